import random

import torch
import torch.nn.functional as F


def train(model, loader, optimizer, criterion, size):
    for x, y in loader:
        if random.random() < 0.5:
            x = x.flip(-1)
        x = F.interpolate(x.cuda(), size=(size, size), mode="nearest")
        criterion(model(x), y.cuda()).backward()
        optimizer.step()
