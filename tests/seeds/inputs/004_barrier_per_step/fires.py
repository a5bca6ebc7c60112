import torch
import torch.distributed as dist


def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
        dist.barrier()  # expect: PRT216
