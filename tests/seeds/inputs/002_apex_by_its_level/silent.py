import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def build(model, optimizer):
    return DDP(model.cuda()), optimizer


def step(model, optimizer, x, scaler):
    with torch.autocast("cuda"):
        loss = model(x.cuda()).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
