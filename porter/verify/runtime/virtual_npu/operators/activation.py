"""Gated and approximated activations, and the softmax of masked scores."""

import torch
import torch.nn.functional as F

from virtual_npu.operators.register import derivatives, kernel


def _swiglu(x, dim):
    gate, value = x.float().chunk(2, dim)
    return (F.silu(gate) * value).to(x.dtype)


@kernel("npu_swiglu")
def swiglu(x, dim=-1):
    return _swiglu(x, dim)


@kernel("npu_swiglu_backward")
def swiglu_backward(dy, x, dim=-1):
    return derivatives(lambda x: _swiglu(x, dim), dy, x)[0]


def _fast_gelu(x):
    return x * torch.sigmoid(1.702 * x)


@kernel("npu_fast_gelu", "fast_gelu")
def fast_gelu(x):
    return _fast_gelu(x)


@kernel("npu_fast_gelu_backward")
def fast_gelu_backward(grad, x):
    return derivatives(_fast_gelu, grad, x)[0]


@kernel("npu_gelu")
def gelu(x, *, approximate="none"):
    return F.gelu(x, approximate=approximate)


@kernel("npu_gelu_backward")
def gelu_backward(grad, x, *, approximate="none"):
    return torch.ops.aten.gelu_backward(grad, x, approximate=approximate)


@kernel("npu_silu")
def silu(x):
    return F.silu(x)


@kernel("npu_silu_backward")
def silu_backward(grad, x, result):
    return torch.ops.aten.silu_backward(grad, x)


@kernel("npu_scaled_masked_softmax")
def scaled_masked_softmax(x, mask, scale=1, fixed_triu_mask=False):
    masked = torch.ones(x.shape[-2:], dtype=torch.bool).triu(1) if fixed_triu_mask else mask.bool()
    return torch.softmax((x.float() * scale).masked_fill(masked, -10000.0), -1).to(x.dtype)


@kernel("npu_scaled_masked_softmax_backward")
def scaled_masked_softmax_backward(grad, result, mask, scale, fixed_triu_mask):
    return ((grad - (grad * result).sum(-1, keepdim=True)) * result * scale).to(result.dtype)
