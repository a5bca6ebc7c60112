import torch
from torch import nn


def train(model, loader, optimizer):
    criterion = nn.SmoothL1Loss()
    for x, y in loader:
        criterion(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
