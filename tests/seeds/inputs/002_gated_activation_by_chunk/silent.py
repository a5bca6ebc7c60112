import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up = nn.Linear(dim, 8 * dim)
        self.down = nn.Linear(8 * dim, dim)

    def forward(self, x):
        return self.down(torch.nn.functional.silu(self.up(x)))


def run(x):
    return FeedForward(512).cuda()(x.cuda())
