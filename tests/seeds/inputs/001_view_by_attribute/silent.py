import torch
from torch.autograd import Function


class LinearFn(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w.T

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        dx = g @ w
        dw = g.T.contiguous() @ x
        return dx, dw


def run(x, w):
    LinearFn.apply(x.cuda(), w.cuda()).sum().backward()
