import torch

from ..loader import load_ext

ext = load_ext("_C", ["overlap", "pool", "count"])


class OverlapFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return ext.overlap(a, b)

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


overlap = OverlapFunction.apply


class Overlap(torch.nn.Module):
    def forward(self, a, b):
        return self.compute(a, b)

    def compute(self, a, b):
        return overlap(a, b)


def iou(a, b):
    if a.numel() == 0:
        return a.new_zeros(0)
    return overlap(a, b)


def safe_overlap(a, b):
    """Only GPUs come to the kernel."""
    if a.is_cuda:
        return overlap(a, b)
    return (a * b).sum(-1)


def either(a, b, fast=True):
    """The other way has no kernel."""
    if fast:
        return overlap(a, b)
    return (a * b).sum(-1)


def scaled(a, b):
    return (a * b).sum(-1)


def blended(a, b, fast=True):
    """Both ways are calls, and one of them is harmless."""
    if fast:
        return overlap(a, b)
    return scaled(a, b)


def elsewhere(a, b):
    """What is no tensor of CUDA comes to the kernel."""
    if a.is_cuda:
        return scaled(a, b)
    return overlap(a, b)


def distance(a, b, mode="iou"):
    """Whatever is chosen."""
    if mode == "iou":
        return iou(a, b)
    elif mode == "raw":
        found = overlap(a, b)
    else:
        raise ValueError(mode)
    return 1 - found


def pooled(a):
    """The sources have it for NPUs."""
    return ext.pool(a)


def measured(a):
    """Computed on the CPU."""
    return ext.count(a), ext.overlap(a.cpu(), a.cpu())


def _many(a, b):
    if a.dim() > 3:
        return overlap(a, b)
    return (a * b).sum(-1)


def large(a, b):
    """Two calls above the condition."""
    return _many(a, b)


def small(a, b, n):
    if n < 100:
        c = (a * b).sum(-1)
    else:
        c = overlap(a, b)
    return c


def newer(a, b, capability):
    """A number of the machine, and not of what is handed over."""
    if capability >= 80:
        return overlap(a, b)
    return (a * b).sum(-1)
