import torch
import torch.nn as nn

from .boxes import Overlap

try:
    from .fast import build
except ImportError:

    def build(x):
        return x


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.overlap = Overlap()

    def forward(self, x):
        return self.overlap(x, x)


class Tower(Head):
    """Calls itself, which ends nowhere, and what its base makes, which does."""

    def again(self, x, depth):
        return self.again(x, depth - 1) if depth else self.odd(x, depth)

    def odd(self, x, depth):
        return self.again(x, depth)


class Plain(nn.Module):
    def __init__(self, with_head=False):
        super().__init__()
        if with_head:
            self.head = Head()

    def forward(self, x):
        return torch.relu(x)
