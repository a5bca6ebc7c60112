import torch


def gather(x):
    """Falls back to the CPU."""
    return torch.ops.shapes.gather(x)


def warp(x):
    return torch.ops.shapes.warp.default(x)


def warped(x):
    return [warp(part) for part in x]


def spectrum(x):
    return torch.rfft(x, 1)


def old_spectrum(x):
    if hasattr(torch, "rfft"):
        return torch.rfft(x, 1)
    return torch.fft.rfft(x)
