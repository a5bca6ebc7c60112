"""A planted fault of benchmarks/compare_runs.py and benchmarks/dumped.py. It imports torch alone."""

import torch


class Skewed(torch.autograd.Function):
    """An identity, of which the gradient is wrong."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.linspace(0.5, 1.5, grad.shape[-1], device=grad.device)
