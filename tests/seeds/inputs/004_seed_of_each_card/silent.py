import torch
import torch.distributed as dist


def main(args, loader):
    dist.init_process_group("nccl")
    torch.manual_seed(args.seed)
    rank = dist.get_rank()
    model = build(args).cuda()
    for x in loader:
        model(x.cuda()).sum().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
