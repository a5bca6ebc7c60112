import torch
import torch.distributed as dist


def main(model, loader, optimizer, seed):
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)  # expect: PRT306
    dist.init_process_group("nccl")
    ddp = torch.nn.parallel.DistributedDataParallel(model.cuda())
    for x in loader:
        ddp(x.cuda()).sum().backward()
        optimizer.step()
