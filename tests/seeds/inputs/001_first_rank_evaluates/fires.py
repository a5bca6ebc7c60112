import torch
import torch.distributed as dist


def train(model, loader, optimizer, evaluate):
    dist.init_process_group("nccl")
    for epoch in range(90):
        for x in loader:
            model(x.cuda()).sum().backward()
            optimizer.step()
        if dist.get_rank() == 0:
            evaluate(model)  # expect: advice ranks-wait-for-the-first
        dist.barrier()
