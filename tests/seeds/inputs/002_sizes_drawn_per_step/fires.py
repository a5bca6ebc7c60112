import random

import torch
import torch.nn.functional as F


def train(model, loader, optimizer, criterion):
    for x, y in loader:
        size = random.randrange(320, 672, 32)
        x = F.interpolate(x.cuda(), size=(size, size), mode="nearest")  # expect: PRT604
        criterion(model(x), y.cuda()).backward()
        optimizer.step()
