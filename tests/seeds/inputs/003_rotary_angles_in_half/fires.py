import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        inv_freq = 1.0 / base ** (torch.arange(0, dim, 2).to(torch.bfloat16) / dim)  # expect: advice rotary-angles-in-half
        self.register_buffer("inv_freq", inv_freq)

    def forward(self, length):
        t = torch.arange(length, device="cuda")
        angles = torch.outer(t, self.inv_freq)
        return angles.cos(), angles.sin()


def train(model, loader, opt):
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
