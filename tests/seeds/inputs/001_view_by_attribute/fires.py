import torch
from torch.autograd import Function


class LinearFn(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        dx = g @ w.T  # expect: advice contiguous-before-matmul
        dw = x.mT @ g  # expect: advice contiguous-before-matmul
        return dx, dw


def run(x, w):
    LinearFn.apply(x.cuda(), w.cuda()).sum().backward()
