"""torch_npu's own operators against plain torch, forwards and backwards: normalisation, activations, losses."""

import torch
import torch.nn.functional as F
import torch_npu
from says import agree, is_, over, raises, same

torch.manual_seed(0)
X, Y = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
GAMMA, BETA = torch.rand(8) + 0.5, torch.randn(8)
NOT_MODELLED = "virtual NPU: the reference of"


def _rms_norm(x, gamma, epsilon=1e-6):
    return F.rms_norm(x, gamma.shape, gamma, epsilon)


# ---- normalisation
@over("one dimension", "two dimensions", "bfloat16", "float16")
def fact_npu_rms_norm(case):
    x, gamma = (X, torch.rand(3, 8)) if case == "two dimensions" else (X, GAMMA)
    if "float" in case:
        dtype = getattr(torch, case)
        on_npu = torch_npu.npu_rms_norm(x.to(dtype).npu(), gamma.to(dtype).npu())[0].cpu()
        is_(on_npu.dtype, dtype)
        same([on_npu.float()], [_rms_norm(x.to(dtype).float(), gamma.to(dtype).float())], 2e-2)
    else:
        agree(lambda x, g: torch_npu.npu_rms_norm(x, g, epsilon=1e-6)[0], _rms_norm, x, gamma)


def fact_npu_rms_norm_gives_the_reciprocal():
    _, reciprocal = torch_npu.npu_rms_norm(X.npu(), GAMMA.npu())
    same([reciprocal.cpu()], [torch.rsqrt(X.square().mean(-1, keepdim=True) + 1e-6)])


def fact_the_autograd_node_is_torch_npus():
    result = torch_npu.npu_rms_norm(X.npu().requires_grad_(), GAMMA.npu())[0]
    is_(type(result.grad_fn).__name__, "NpuRmsNormBackward0")


def fact_npu_add_rms_norm():
    def plain(x1, x2, gamma):
        return _rms_norm(x1 + x2, gamma), x1 + x2

    found = [torch_npu.npu_add_rms_norm(X.npu(), Y.npu(), GAMMA.npu())[i].cpu() for i in (0, 2)]
    same(found, plain(X, Y, GAMMA))


def fact_npu_add_rms_norm_cast():
    x, y, gamma = X.half(), Y.half(), GAMMA.half()
    y1, y2, reciprocal, total = torch_npu.npu_add_rms_norm_cast(x.npu(), y.npu(), gamma.npu())
    wanted = _rms_norm((x + y).float(), gamma.float())
    same([y1.cpu(), y2.cpu().float(), total.cpu()], [wanted, wanted, x + y], 2e-3)
    is_((y2.dtype, reciprocal.dtype), (torch.float16, torch.float32))


def fact_npu_gemma_rms_norm():
    same([torch_npu.npu_gemma_rms_norm(X.npu(), GAMMA.npu())[0].cpu()], [_rms_norm(X, 1 + GAMMA)])


@over("result", "result and sum")
def fact_npu_add_layer_norm(case):
    also = case != "result"

    def on_npu(x1, x2, gamma, beta):
        y, _, _, total = torch_npu.npu_add_layer_norm(x1, x2, gamma, beta, 1e-5, also)
        return (y, total) if also else y

    def plain(x1, x2, gamma, beta):
        y = F.layer_norm(x1 + x2, (8,), gamma, beta)
        return (y, x1 + x2) if also else y

    agree(on_npu, plain, X, Y, GAMMA, BETA, tolerance=1e-4)


def fact_npu_add_layer_norm_does_not_make_up_a_sum():
    assert torch_npu.npu_add_layer_norm(X.npu(), Y.npu(), GAMMA.npu(), BETA.npu())[3].isnan().all()


def fact_npu_deep_norm():
    agree(
        lambda x, gx, beta, gamma: torch_npu.npu_deep_norm(x, gx, beta, gamma, 0.7, 1e-5)[2],
        lambda x, gx, beta, gamma: F.layer_norm(0.7 * x + gx, (8,), gamma, beta),
        X, Y, BETA, GAMMA, tolerance=1e-4,
    )  # fmt: skip


def fact_npu_layer_norm_eval():
    same(
        [torch_npu.npu_layer_norm_eval(X.npu(), [8], GAMMA.npu(), BETA.npu()).cpu()],
        [F.layer_norm(X, (8,), GAMMA, BETA)],
    )


@over("npu_group_norm_silu", "npu_group_norm_swish")
def fact_group_norm_and(name):
    x, weight, bias = torch.randn(2, 8, 5), GAMMA, BETA

    def on_npu(x, weight, bias):
        if name.endswith("silu"):
            return torch_npu.npu_group_norm_silu(x, weight, bias, 4, 1e-5)[0]
        return torch_npu.npu_group_norm_swish(x, 4, weight, bias, eps=1e-5)[0]

    def plain(x, weight, bias):
        return F.silu(F.group_norm(x, 4, weight, bias))

    if name.endswith("silu"):  # torch_npu has no derivative of it
        same([on_npu(x.npu(), weight.npu(), bias.npu()).cpu()], [plain(x, weight, bias)])
    else:
        agree(on_npu, plain, x, weight, bias, tolerance=1e-4)


@over("x", "weight", "bias")
def fact_npu_group_norm_swish_makes_up_no_gradient(left_out):
    x, weight, bias = torch.randn(2, 8, 5).npu(), GAMMA.npu(), BETA.npu()
    y, mean, rstd = torch_npu.npu_group_norm_swish(x, 4, weight, bias, eps=1e-5)
    asked = [name != left_out for name in ("x", "weight", "bias")]
    found = torch.ops.npu.npu_group_norm_swish_grad(torch.ones_like(y), x, 4, weight, bias, mean, rstd, asked, 1.0)
    is_([gradient is not None for gradient in found], asked)


def fact_npu_group_norm_swish_with_a_scale():
    x = torch.randn(2, 8, 5)
    y = F.group_norm(x, 4, GAMMA, BETA)
    found = torch_npu.npu_group_norm_swish(x.npu(), 4, GAMMA.npu(), BETA.npu(), eps=1e-5, swish_scale=2.0)[0]
    same([found.cpu()], [y * torch.sigmoid(2 * y)])


# ---- activations
ACTIVATIONS = {
    "npu_swiglu": (torch_npu.npu_swiglu, lambda x: F.silu(x[..., :4]) * x[..., 4:]),
    "npu_swiglu in the first dimension": (lambda x: torch_npu.npu_swiglu(x, 0), lambda x: F.silu(x[:1]) * x[1:]),
    "npu_geglu": (lambda x: torch_npu.npu_geglu(x)[0], lambda x: x[..., :4] * F.gelu(x[..., 4:], approximate="tanh")),
    "npu_geglu left, exact": (
        lambda x: torch_npu.npu_geglu(x, -1, 0, True)[0],
        lambda x: F.gelu(x[..., :4]) * x[..., 4:],
    ),
    "npu_gelu": (torch_npu.npu_gelu, F.gelu),
    "npu_gelu tanh": (lambda x: torch_npu.npu_gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
    "npu_fast_gelu": (torch_npu.npu_fast_gelu, lambda x: x * torch.sigmoid(1.702 * x)),
    "npu_silu": (torch_npu.npu_silu, F.silu),
    "npu_mish": (torch_npu.npu_mish, F.mish),
}


@over(
    "npu_swiglu", "npu_swiglu in the first dimension", "npu_geglu", "npu_geglu left, exact", "npu_gelu", "npu_gelu tanh",
    "npu_fast_gelu", "npu_silu", "npu_mish",
)  # fmt: skip
def fact_activation(name):
    agree(*ACTIVATIONS[name], X)


def fact_npu_gelu_mul():
    same([torch_npu.npu_gelu_mul(X.npu()).cpu()], [F.gelu(X[..., :4]) * X[..., 4:]])


def fact_npu_silu_changes_its_argument():
    x = X.npu().clone()
    assert torch_npu.npu_silu_(x) is x
    same([x.cpu()], [F.silu(X)])


def fact_halves_must_be_halves():
    with raises("not there or not divisible by 2", RuntimeError):
        torch_npu.npu_geglu(X.npu(), 1)


@over("mask", "triangle")
def fact_npu_scaled_masked_softmax(case):
    x, mask = torch.randn(2, 4, 6, 6), torch.rand(2, 1, 6, 6) > 0.7
    if case == "triangle":
        mask = torch.ones(6, 6, dtype=torch.bool).triu(1).repeat(2, 1, 1, 1)
    mask[..., 0] = False
    agree(
        lambda x: torch_npu.npu_scaled_masked_softmax(x, mask.npu(), 0.5, case == "triangle"),
        lambda x: torch.softmax((x * 0.5).masked_fill(mask, -10000.0), -1),
        x,
    )


# ---- losses
@over("mean", "sum", "none", "smoothed", "weighted", "ignored")
def fact_npu_cross_entropy_loss(case):
    x, target = torch.randn(5, 7), torch.tensor([0, 6, 2, 2, 3])
    settings = {
        "smoothed": {"label_smoothing": 0.1},
        "weighted": {"weight": torch.rand(7)},
        "ignored": {"ignore_index": 2},
    }.get(case, {"reduction": case})

    def on_npu(x):
        moved = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in settings.items()}
        return torch_npu.npu_cross_entropy_loss(x, target.npu(), **moved)[0]

    agree(on_npu, lambda x: F.cross_entropy(x, target, **settings).reshape(-1), x)


def fact_npu_cross_entropy_loss_refuses_zloss():
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_cross_entropy_loss(torch.randn(2, 3).npu(), torch.tensor([0, 1]).npu(), return_zloss=True)


def fact_npu_softmax_cross_entropy_with_logits():
    labels = torch.softmax(torch.randn(5, 7), -1)
    agree(
        lambda x: torch_npu.npu_softmax_cross_entropy_with_logits(x, labels.npu()),
        lambda x: F.cross_entropy(x, labels, reduction="none"),
        torch.randn(5, 7),
    )
