"""The step of the fused optimisers; torch_npu's Python classes around it run as they are."""

import math

import torch

from virtual_npu.operators.register import Unsupported, kernel


@kernel("npu_apply_adam_w.out")
def apply_adam_w(
    beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon, grad, max_grad_norm, amsgrad, maximize, *, out
):
    if amsgrad:
        raise Unsupported(
            "npu_apply_adam_w", "amsgrad=True: whether v or max_grad_norm keeps the maximum is not documented"
        )
    parameter, first, second = out
    grad = -grad if maximize else grad
    parameter.mul_(1 - lr * weight_decay)
    first.lerp_(grad, 1 - beta1)
    second.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    bias1, bias2 = 1 - beta1_power * beta1, 1 - beta2_power * beta2
    parameter.addcdiv_(first, (second.sqrt() / math.sqrt(bias2)).add_(epsilon), value=-lr / bias1)
    return tuple(out)


@kernel("_amp_foreach_non_finite_check")
def foreach_non_finite_check(scaled_grads):
    return not all(bool(torch.isfinite(grad).all()) for grad in scaled_grads)
