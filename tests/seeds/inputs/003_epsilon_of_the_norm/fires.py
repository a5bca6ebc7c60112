import torch
from torch import nn
from dataclasses import dataclass


@dataclass
class ModelArgs:
    dim: int = 4096
    n_layers: int = 32
    vocab_size: int = 32000
    norm_eps: float = 1e-5  # expect: advice norm-epsilon


class RMSNorm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


def train(model, loader, opt):
    for x in loader:
        model(x.cuda()).sum().backward()
        opt.step()
