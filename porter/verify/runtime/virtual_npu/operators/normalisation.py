"""RMSNorm, alone and after an addition."""

import torch

from virtual_npu.operators.register import derivatives, kernel


def reciprocal_rms(x, gamma, epsilon):
    dims = tuple(range(-gamma.dim(), 0))
    return torch.rsqrt(x.float().pow(2).mean(dims, keepdim=True) + epsilon)


def rms_normed(x, gamma, epsilon):
    return (x.float() * reciprocal_rms(x, gamma, epsilon) * gamma.float()).to(x.dtype)


@kernel("npu_rms_norm")
def rms_norm(x, gamma, epsilon=1e-6):
    return rms_normed(x, gamma, epsilon), reciprocal_rms(x, gamma, epsilon)


@kernel("npu_rms_norm_backward")
def rms_norm_backward(dy, x, gamma, rstd):
    dims = tuple(range(-gamma.dim(), 0))
    epsilon = rstd.pow(-2) - x.float().pow(2).mean(dims, keepdim=True)  # not passed on: it is inside the saved result
    dx, dgamma, _ = derivatives(rms_normed, dy, x, gamma, epsilon)
    return dx, dgamma.float()


@kernel("npu_add_rms_norm")
def add_rms_norm(x1, x2, gamma, epsilon=1e-6):
    x = x1 + x2
    return rms_normed(x, gamma, epsilon), reciprocal_rms(x, gamma, epsilon), x
