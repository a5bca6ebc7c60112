import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up = nn.Linear(dim, 8 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        a, b = self.up(x).chunk(2, dim=-1)
        return self.down(torch.nn.functional.silu(a) * b)  # expect: PRT612


def run(x):
    return FeedForward(512).cuda()(x.cuda())
