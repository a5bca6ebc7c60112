import torch
import torch.distributed as dist


# all ranks evaluate, and the first only prints
def train(model, loader, optimizer, evaluate):
    dist.init_process_group("nccl")
    for epoch in range(90):
        for x in loader:
            model(x.cuda()).sum().backward()
            optimizer.step()
        score = evaluate(model)
        if dist.get_rank() == 0:
            print(score)
        dist.barrier()
