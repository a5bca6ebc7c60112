"""Gated activations on one half of their input, other activations, and losses with softmax."""

import torch
import torch.nn.functional as F

from virtual_npu.operators.register import Unsupported, derivatives, in_place_kernel, kernel

_GELU = {0: "none", 1: "tanh"}


def _geglu(x, dim, approximate, activate_left):
    """The result, and the activated half."""
    left, right = x.float().chunk(2, dim)
    gate, value = (left, right) if activate_left else (right, left)
    gate = F.gelu(gate, approximate=_GELU[approximate])
    return (gate * value).to(x.dtype), gate.to(x.dtype)


def _check_halves(name, x, dim):
    if not -x.dim() <= dim < x.dim() or x.shape[dim] % 2:
        raise RuntimeError(f"{name}: dim {dim} of {tuple(x.shape)} is not there or not divisible by 2")


@kernel("npu_geglu")
def geglu(x, dim=-1, approximate=1, activate_left=False):
    _check_halves("npu_geglu", x, dim)
    if approximate not in _GELU:
        raise Unsupported("npu_geglu", f"approximate={approximate}")
    return _geglu(x, dim, approximate, activate_left)


@kernel("npu_geglu_grad")
def geglu_grad(grad, x, gelu, dim=-1, approximate=1, activate_left=False):
    return derivatives(lambda x: _geglu(x, dim, approximate, activate_left)[0], grad, x)[0]


@kernel("npu_gelu_mul")
def gelu_mul(x, *, approximate="none"):
    _check_halves("npu_gelu_mul", x, -1)
    left, right = x.float().chunk(2, -1)
    return (F.gelu(left, approximate=approximate) * right).to(x.dtype)


@kernel("npu_mish")
def mish(x):
    return F.mish(x)


@kernel("npu_mish_backward")
def mish_backward(grad, x):
    return derivatives(F.mish, grad, x)[0]


@in_place_kernel("npu_silu_")
def silu_(x):
    x.copy_(F.silu(x))


@kernel("npu_softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(x, labels):
    return _soft_cross_entropy(x, labels)


@kernel("npu_softmax_cross_entropy_with_logits_backward")
def softmax_cross_entropy_with_logits_backward(grad, x, labels):
    return derivatives(lambda x: _soft_cross_entropy(x, labels), grad, x)[0]


def _soft_cross_entropy(x, labels):
    return -(labels * torch.log_softmax(x, -1)).sum(-1)


@kernel("npu_cross_entropy_loss")
def cross_entropy_loss(
    x, target, weight=None, reduction="mean", ignore_index=-100, label_smoothing=0.0, lse_square_scale_for_zloss=0.0,
    return_zloss=False,
):  # fmt: skip
    if lse_square_scale_for_zloss or return_zloss:
        raise Unsupported("npu_cross_entropy_loss", "zloss")
    if x.dim() != 2 or target.dim() != 1:
        raise RuntimeError(f"npu_cross_entropy_loss: input is [N, C] and target [N], not {x.dim()} and {target.dim()}D")
    loss = _cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing)
    nothing = torch.empty(0, dtype=x.dtype)
    return loss, torch.log_softmax(x.float(), -1).to(x.dtype), nothing, nothing.clone()


@kernel("npu_cross_entropy_loss_backward")
def cross_entropy_loss_backward(
    grad, log_prob, target, weight=None, grad_zloss=None, lse_for_zloss=None, reduction="mean", ignore_index=-100,
    label_smoothing=0.0, lse_square_scale_for_zloss=0.0,
):  # fmt: skip
    # softmax does not see what log_softmax took off: the gradient at the one is that at the other
    return derivatives(
        lambda x: _cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing), grad, log_prob
    )[0]


def _cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing):
    loss = F.cross_entropy(
        x.float(), target, weight, reduction=reduction, label_smoothing=label_smoothing,
        ignore_index=ignore_index if ignore_index >= 0 else -100,
    )  # fmt: skip
    return (loss if reduction == "none" else loss.reshape(1)).to(x.dtype)
