import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 64, 3)
        self.second = nn.Conv2d(64, 100, 3)
        self.third = nn.Conv2d(100, 250, 3)  # expect: PRT640

    def forward(self, x):
        return self.third(self.second(self.first(x.cuda())))
