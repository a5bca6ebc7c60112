import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        x = x.cuda()
        return x.permute(0, 2, 3, 1).permute(0, 3, 1, 2)  # expect: PRT642
