import torch
from torch import nn


# two that are one other permutation; and work in between
class Block(nn.Module):
    def forward(self, x):
        x = x.cuda()
        x = x.permute(0, 2, 3, 1).permute(0, 2, 1, 3)
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
