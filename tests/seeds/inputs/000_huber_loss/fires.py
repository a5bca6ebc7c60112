import torch
from torch import nn


def train(model, loader, optimizer):
    criterion = nn.HuberLoss()  # expect: PRT702
    for x, y in loader:
        criterion(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
