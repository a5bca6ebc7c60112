import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.FractionalMaxPool2d(2, output_ratio=0.7)  # expect: PRT702

    def forward(self, x):
        return self.pool(x)


def train(net, loader, optimizer):
    for x in loader:
        net(x.cuda()).sum().backward()
        optimizer.step()
