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


def moved(x):
    """The dispatcher has it for another device."""
    return torch.ops.shapes.moved(x)


def sum_by(x):
    return torch.ops.shapes.sum_by(x)


def count_by(x):
    return torch.ops.shapes.count_by(x)


def blurred(x):
    return torch.ops.shapes.blur(x)
