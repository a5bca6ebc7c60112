import torch

try:
    from apex.normalization import FusedLayerNorm as LayerNorm  # expect: PRT355
except ImportError:
    from torch.nn import LayerNorm


def block(dim):
    return torch.nn.Sequential(LayerNorm(dim), torch.nn.Linear(dim, dim)).cuda()
