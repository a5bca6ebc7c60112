import torch
import torch.distributed as dist


def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).sum().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)  # expect: PRT216
            p.grad /= dist.get_world_size()
        optimizer.step()
