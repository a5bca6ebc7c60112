import torch
import torch.distributed as dist


# before a checkpoint, now and then; and once per epoch
def train(model, loader, optimizer):
    for epoch in range(9):
        for step, x in enumerate(loader):
            model(x.cuda()).sum().backward()
            optimizer.step()
            if step % 1000 == 0:
                dist.barrier()
        dist.barrier()
