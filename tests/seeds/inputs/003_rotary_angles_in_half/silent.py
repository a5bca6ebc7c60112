import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        inv_freq = 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)
        self.register_buffer("inv_freq", inv_freq)

    def forward(self, length):
        t = torch.arange(length, device="cuda")
        angles = torch.outer(t, self.inv_freq)
        return angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)


def train(model, loader, opt):
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
