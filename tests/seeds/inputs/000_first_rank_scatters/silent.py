import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def run(model, dataset, optimizer, loss_fn):
    mine = torch.empty(16, device="cuda")
    dist.scatter(mine, [torch.zeros(16, device="cuda")] * 8 if dist.get_rank() == 0 else None, src=0)
    loader = DataLoader(dataset, 32, sampler=DistributedSampler(dataset), num_workers=4, pin_memory=True, drop_last=True)
    for x in loader:
        loss = loss_fn(model(x.cuda(non_blocking=True)))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
