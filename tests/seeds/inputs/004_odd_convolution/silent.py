import torch
from torch import nn


# what a network is fed and what it gives out
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 64, 3)
        self.second = nn.Conv2d(64, 128, 3)
        self.last = nn.Conv2d(128, 21, 1)

    def forward(self, x):
        return self.last(self.second(self.first(x.cuda())))
