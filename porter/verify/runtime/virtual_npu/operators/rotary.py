"""Rotary position embedding."""

import torch

from virtual_npu.operators.register import Unsupported, derivatives, kernel


def _rotary(x, cos, sin, mode):
    if mode == "half":
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
    elif mode == "interleave":
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    else:
        raise Unsupported("npu_rotary_mul", f"rotary_mode {mode!r}")
    return (x * cos + turned * sin).to(x.dtype)


@kernel("npu_rotary_mul")
def rotary_mul(x, r1, r2, rotary_mode="half", rotate=None):
    if rotate is not None:
        raise Unsupported("npu_rotary_mul", "rotate=")
    return _rotary(x, r1, r2, rotary_mode)


@kernel("npu_rotary_mul_backward")
def rotary_mul_backward(grad, x, r1, r2, rotary_mode="half"):
    return tuple(derivatives(lambda x, cos, sin: _rotary(x, cos, sin, rotary_mode), grad, x, r1, r2))
