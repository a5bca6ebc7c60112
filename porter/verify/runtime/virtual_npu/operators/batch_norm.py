"""SyncBatchNorm: aten operators that have no CPU kernel, and torch_npu's own two."""

import torch

from virtual_npu.operators.register import kernel


def _all_but_channels(x):
    return [0, *range(2, x.dim())]


def _per_channel(v, x):
    return v.view(1, -1, *[1] * (x.dim() - 2))


def _update(running, value, momentum):
    if running is not None:
        running.lerp_(value.to(running.dtype), momentum)


@kernel("batch_norm_reduce")
def reduce(x, eps):
    x = x.float()
    return x.sum(_all_but_channels(x)), x.square().sum(_all_but_channels(x))


@kernel("batch_norm_gather_stats_update")
def gather_stats_update(x, total, square, running_mean, running_var, momentum, eps, counts):
    n = counts.sum()
    mean = total.sum(0) / n
    var = square.sum(0) / n - mean.square()
    _update(running_mean, mean, momentum)
    _update(running_var, var * n / (n - 1), momentum)
    return mean, torch.rsqrt(var + eps)


@kernel("aten::batch_norm_stats")
def stats(x, eps):
    var, mean = torch.var_mean(x.float(), _all_but_channels(x), correction=0)
    return mean, torch.rsqrt(var + eps)


@kernel("aten::batch_norm_gather_stats_with_counts")
def gather_stats_with_counts(x, mean, invstd, running_mean, running_var, momentum, eps, counts):
    share = counts.view(-1, 1).to(mean.dtype)
    n = share.sum()
    whole = (mean * share).sum(0) / n
    var = ((invstd.pow(-2) - eps + (mean - whole).square()) * share).sum(0) / n
    _update(running_mean, whole, momentum)
    _update(running_var, var * n / (n - 1), momentum)
    return whole, torch.rsqrt(var + eps)


@kernel("aten::batch_norm_elemt")
def elemt(x, weight, bias, mean, invstd, eps):
    y = (x.float() - _per_channel(mean, x)) * _per_channel(invstd, x)
    if weight is not None:
        y = y * _per_channel(weight, x) + _per_channel(bias, x)
    return y.to(x.dtype)


@kernel("aten::batch_norm_backward_reduce")
def backward_reduce(grad, x, mean, invstd, weight, input_g, weight_g, bias_g):
    grad = grad.float()
    centred = x.float() - _per_channel(mean, x)
    total, product = grad.sum(_all_but_channels(x)), (grad * centred).sum(_all_but_channels(x))
    return total, product, product * invstd, total.clone()


@kernel("aten::batch_norm_backward_elemt")
def backward_elemt(grad, x, mean, invstd, weight, total, product, count):
    n = count.sum().float()
    centred = x.float() - _per_channel(mean, x)
    scale = invstd if weight is None else invstd * weight
    result = grad.float() - _per_channel(total / n, x) - centred * _per_channel(invstd.square() * product / n, x)
    return (result * _per_channel(scale, x)).to(x.dtype)
