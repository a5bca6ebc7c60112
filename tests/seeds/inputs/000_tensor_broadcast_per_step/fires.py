import torch
import torch.distributed as dist


def train(model, loader, optimizer, criterion, shape):
    batches = iter(loader) if dist.get_rank() == 0 else None
    for _ in range(1000):
        x = next(batches).cuda() if dist.get_rank() == 0 else torch.empty(shape, device="cuda")
        dist.broadcast(x, src=0)  # expect: advice one-rank-reads
        loss = criterion(model(x))
        loss.backward()
        optimizer.step()
