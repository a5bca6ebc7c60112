import torch
from torch import nn


class FSQ(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.levels = torch.tensor(levels)

    def quantise(self, z):
        half = (self.levels - 1) / 2
        bounded = half * z.tanh()
        rounded = bounded.round()  # expect: advice rounding
        return bounded + (rounded - bounded).detach()

    def forward(self, z):
        return self.quantise(z)
