"""Layer and group normalisation, alone and with what comes before or after them; and two RMS norms: with the weight of Gemma, and with
a cast."""

import torch
import torch.nn.functional as F

from virtual_npu.operators.normalisation import reciprocal_rms, rms_normed
from virtual_npu.operators.register import derivatives, kernel, masked


def _statistics(x, gamma, epsilon):
    dims = tuple(range(-gamma.dim(), 0))
    var, mean = torch.var_mean(x.float(), dims, correction=0, keepdim=True)
    return mean, torch.rsqrt(var + epsilon)


def _layer_norm(x, gamma, beta, epsilon):
    mean, reciprocal = _statistics(x, gamma, epsilon)
    return ((x.float() - mean) * reciprocal * gamma.float() + beta.float()).to(x.dtype)


def _epsilon(x, gamma, reciprocal):
    """Not passed on to the backward kernels: it is inside what was saved."""
    dims = tuple(range(-gamma.dim(), 0))
    return reciprocal.pow(-2) - torch.var(x.float(), dims, correction=0, keepdim=True)


@kernel("npu_add_layer_norm")
def add_layer_norm(x1, x2, gamma, beta, epsilon=1e-5, additional_output=False):
    x = x1 + x2
    mean, reciprocal = _statistics(x, gamma, epsilon)
    # what is not asked for is not written: a number here would be believed
    total = x if additional_output else torch.full_like(x, float("nan"))
    return _layer_norm(x, gamma, beta, epsilon), mean, reciprocal, total


@kernel("npu_add_layer_norm_backward")
def add_layer_norm_backward(dy, x1, x2, rstd, mean, gamma, dsum=None):
    x = x1 + x2
    dx, dgamma, dbeta = torch.zeros_like(x), torch.zeros_like(gamma), torch.zeros_like(gamma)
    if dy is not None:
        epsilon = _epsilon(x, gamma, rstd)
        dx, dgamma, dbeta = derivatives(
            lambda x, gamma, beta: _layer_norm(x, gamma, beta, epsilon), dy, x, gamma, torch.zeros_like(gamma)
        )
    if dsum is not None:
        dx = dx + dsum
    return dx, dx.clone(), dgamma, dbeta


@kernel("npu_deep_norm")
def deep_norm(x, gx, beta, gamma, alpha=0.3, epsilon=1e-6):
    total = alpha * x + gx
    return *_statistics(total, gamma, epsilon), _layer_norm(total, gamma, beta, epsilon)


@kernel("npu_deep_norm_backward")
def deep_norm_backward(dy, x, gx, gamma, mean, rstd, alpha=0.3):
    epsilon = _epsilon(alpha * x + gx, gamma, rstd)

    def forward(x, gx, beta, gamma):
        return _layer_norm(alpha * x + gx, gamma, beta, epsilon)

    return tuple(derivatives(forward, dy, x, gx, torch.zeros_like(gamma), gamma))


@kernel("npu_layer_norm_eval")
def layer_norm_eval(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    return F.layer_norm(x, normalized_shape, weight, bias, eps)


def _group_norm(x, groups, weight, bias, eps, scale):
    y = F.group_norm(x, groups, weight, bias, eps)
    return y * torch.sigmoid(scale * y)


def _group_statistics(x, groups, eps):
    var, mean = torch.var_mean(x.float().reshape(x.shape[0], groups, -1), -1, correction=0)
    return mean.to(x.dtype), torch.rsqrt(var + eps).to(x.dtype)


def _check_groups(name, x, groups):
    if x.dim() < 2 or x.shape[1] % groups:
        raise RuntimeError(f"{name}: dim 1 of {tuple(x.shape)} does not divide into {groups} groups")


@kernel("npu_group_norm_silu")
def group_norm_silu(x, weight, bias, group, eps=1e-5):
    _check_groups("npu_group_norm_silu", x, group)
    return _group_norm(x, group, weight, bias, eps, 1.0), *_group_statistics(x, group, eps)


@kernel("npu_group_norm_swish")
def group_norm_swish(x, num_groups, weight, bias, eps=1e-5, swish_scale=1.0):
    _check_groups("npu_group_norm_swish", x, num_groups)
    return _group_norm(x, num_groups, weight, bias, eps, swish_scale), *_group_statistics(x, num_groups, eps)


@kernel("npu_group_norm_swish_grad")
def group_norm_swish_grad(grad, x, num_groups, weight, bias, mean, rstd, grad_input_mask, swish_scale=1.0):
    groups = x.float().reshape(x.shape[0], num_groups, -1)
    eps = float((rstd.float().pow(-2) - groups.var(-1, correction=0)).mean().clamp_min(0))

    def forward(x, weight, bias):
        return _group_norm(x, num_groups, weight, bias, eps, swish_scale)

    return masked(derivatives(forward, grad, x, weight, bias), grad_input_mask)


@kernel("npu_gemma_rms_norm")
def gemma_rms_norm(x, gamma, epsilon=1e-6):
    return rms_normed(x, 1 + gamma.float(), epsilon), reciprocal_rms(x, gamma, epsilon)


@kernel("npu_add_rms_norm_cast")
def add_rms_norm_cast(x1, x2, gamma, epsilon=1e-6):
    x = x1 + x2
    y = x.float() * reciprocal_rms(x, gamma, epsilon) * gamma.float()
    return y.to(x.dtype).float(), y.to(x.dtype), reciprocal_rms(x, gamma, epsilon), x
