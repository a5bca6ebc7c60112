"""The fused optimisers: torch_npu's own Python over the kernels of the device, against torch's optimisers."""

import torch
import torch_npu
from says import is_, over, raises, same
from torch import nn

OPTIMISERS = {
    "NpuFusedAdam decay": ("NpuFusedAdam", torch.optim.Adam, {"weight_decay": 0.1}),
    "NpuFusedSGD nesterov": ("NpuFusedSGD", torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "NpuFusedAdadelta": ("NpuFusedAdadelta", torch.optim.Adadelta, {"weight_decay": 0.1}),
    "NpuFusedRMSprop": ("NpuFusedRMSprop", torch.optim.RMSprop, {"momentum": 0.9, "centered": True}),
}


def _step(kind, device, settings, clip=None):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4)).to(device)
    optimiser = kind(model.parameters(), lr=1e-2, **settings)
    norms = []
    for i in range(5):
        optimiser.zero_grad()
        model(torch.full((2, 4), i + 1.0).to(device)).square().mean().backward()
        if clip == "fused":
            norms.append(optimiser.clip_grad_norm_fused_(0.05).item())
        elif clip:
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.05).item())
        optimiser.step()
    return [torch.tensor(norms), *(p.detach().cpu() for p in model.parameters())]


@over("NpuFusedAdam decay", "NpuFusedSGD nesterov", "NpuFusedAdadelta", "NpuFusedRMSprop")
def fact_optimiser(name):
    fused, plain, settings = OPTIMISERS[name]
    same(_step(getattr(torch_npu.optim, fused), "npu", settings), _step(plain, "cpu", settings), 1e-5)


@over("NpuFusedLamb", "NpuFusedAdamP", "NpuFusedBertAdam", "NpuFusedRMSpropTF")
def fact_optimiser_without_a_torch_equivalent_learns(name):
    settings = {"warmup": 0.1, "t_total": 100} if name == "NpuFusedBertAdam" else {}
    torch.manual_seed(0)
    model = nn.Linear(4, 4).npu()
    optimiser = getattr(torch_npu.optim, name)(model.parameters(), lr=1e-2, **settings)
    losses = []
    for _ in range(10):
        optimiser.zero_grad()
        loss = model(torch.ones(2, 4).npu()).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses


def fact_clip_grad_norm_fused():
    same(
        _step(torch_npu.optim.NpuFusedSGD, "npu", {"momentum": 0.9}, "fused"),
        _step(torch.optim.SGD, "cpu", {"momentum": 0.9}, "plain"),
        1e-5,
    )


def fact_non_finite_gradients_are_found():
    good = torch.ones(3).npu()
    is_(torch.ops.npu._amp_foreach_non_finite_check([good, good]), False)
    is_(torch.ops.npu._amp_foreach_non_finite_check([good, good / 0]), True)


def _apply(state, step, gradient, **more):
    settings = {"lr": 0.1, "weight_decay": 0.2, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-8, **more}
    return torch_npu.npu_apply_adam_w(
        0.9**step, 0.99**step, *settings.values(), gradient.npu(), None, False, False, out=tuple(state)
    )


def fact_npu_apply_adam_w_steps_in_place():
    parameter = torch.randn(3, 4).requires_grad_()
    state = [parameter.detach().clone().npu(), torch.zeros(3, 4).npu(), torch.zeros(3, 4).npu()]
    optimiser = torch.optim.AdamW([parameter], lr=0.1, betas=(0.9, 0.99), weight_decay=0.2)
    for step in range(4):
        parameter.grad = torch.randn(3, 4)
        _apply(state, step, parameter.grad)
        optimiser.step()
    same([state[0].cpu()], [parameter.detach()], 1e-5)


def fact_npu_apply_adam_w_refuses_amsgrad():
    state = [torch.ones(2).npu() for _ in range(3)]
    with raises("virtual NPU: the reference of npu_apply_adam_w", NotImplementedError):
        torch_npu.npu_apply_adam_w(
            1.0, 1.0, 0.1, 0.0, 0.9, 0.99, 1e-8, state[0], state[0].clone(), True, False, out=tuple(state)
        )
