import torch
import torch.distributed as dist


def main(args, loader):
    dist.init_process_group("nccl")
    seed = args.seed + dist.get_rank()  # expect: advice seed-by-rank
    torch.manual_seed(seed)
    model = build(args).cuda()
    for x in loader:
        model(x.cuda()).sum().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
