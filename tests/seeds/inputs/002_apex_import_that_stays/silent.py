import torch
from torch.nn import LayerNorm


def block(dim):
    return torch.nn.Sequential(LayerNorm(dim), torch.nn.Linear(dim, dim)).cuda()
