"""`migrate --fuse`: what is written, what is left alone, and that on the virtual NPU both compute the same, forwards and
backwards; a version with a mistake in it does not."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.engine.session import Quiet, Session
from porter.finding import apply
from porter.target import Target

HEAD = """\
import math

import torch
import torch.nn.functional as F
from torch import nn

"""
FUSING = open_session(fuse=True)


class Case(NamedTuple):
    source: str
    shapes: tuple  # of the inputs of Model.forward
    written: str  # what stands in the new text
    mistakes: tuple[tuple[str, str], ...]  # (text, what to put in its place)


CASES = {
    "rms norm": Case(
        """
class Model(nn.Module):
    def __init__(self, size=8, eps=1e-2):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(size))

    def forward(self, x):
        kind = x.dtype
        x = x.to(torch.float32)
        spread = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(spread + self.eps)
        return self.scale * x.to(kind)
""",
        ((2, 3, 8),),
        "torch_npu.npu_rms_norm(x, self.scale, self.eps)[0]",
        (("self.eps)[0]", "1e-6)[0]"), ("self.scale, self", "1 + self.scale, self"), ("norm(x, ", "norm(2 * x + 1, ")),
    ),
    "rms norm of two methods": Case(
        """
class Model(nn.Module):
    def __init__(self, size=8, eps=1e-2):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(size))

    def root(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        y = self.root(x.float())
        y = y * (1.0 + self.weight.float())
        return y.type_as(x)
""",
        ((2, 3, 8),),
        "y = torch_npu.npu_rms_norm(x.float(), 1.0 + self.weight.float(), self.eps)[0]",
        (("1.0 + self.weight", "self.weight"), ("self.eps)[0]", "1e-6)[0]")),
    ),
    "swiglu": Case(
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.both = nn.Linear(8, 12)

    def forward(self, x):
        both = self.both(x)
        gate, up = both.chunk(2, dim=-1)
        return F.silu(gate) * up
""",
        ((2, 3, 8),),
        "return torch_npu.npu_swiglu(both, dim=-1)",
        (("swiglu(both", "swiglu(torch.cat(both.chunk(2, -1)[::-1], -1)"), ("dim=-1)\n", "dim=-1) * 1.01\n")),
    ),
    "swiglu by hand": Case(
        """
class Model(nn.Module):
    def forward(self, x):
        half = x.shape[-1] // 2
        up = x[..., half:]
        gate = x[..., :half]
        return up * (gate * torch.sigmoid(gate))
""",
        ((2, 3, 8),),
        "return torch_npu.npu_swiglu(x.contiguous(), dim=-1)",
        (("swiglu(x", "swiglu(x.flip(-1)"), ("dim=-1", "dim=1")),
    ),
    "geglu": Case(
        """
class Model(nn.Module):
    def forward(self, x):
        x, gate = x.chunk(2, dim=-1)
        return x * F.gelu(gate)
""",
        ((2, 3, 8),),
        "return torch_npu.npu_geglu(x.contiguous(), dim=-1, approximate=0)[0]",
        (("approximate=0", "approximate=1"), ("dim=-1,", "dim=-1, activate_left=True,")),
    ),
    "geglu of the first half": Case(
        """
class Model(nn.Module):
    def forward(self, x):
        gate, x = x.chunk(2, dim=-1)
        return F.gelu(gate, approximate="tanh") * x
""",
        ((2, 3, 8),),
        "return torch_npu.npu_geglu(x.contiguous(), dim=-1, approximate=1, activate_left=True)[0]",
        ((", activate_left=True", ""), ("approximate=1", "approximate=0")),
    ),
    "rotary": Case(
        """
def turn(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class Model(nn.Module):
    def forward(self, q, k, cos, sin):
        q = (q * cos) + (turn(q) * sin)
        k = (k * cos) + (turn(k) * sin)
        return q + 2 * k
""",
        ((2, 3, 4, 8), (2, 3, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8)),
        "k = torch_npu.npu_rotary_mul(k, cos, sin)",
        (("(k, cos, sin)", "(k, sin, cos)"), ("(q, cos, sin)", '(q, cos, sin, rotary_mode="interleave")'), ("(k, cos, sin)", "(k, cos, -sin)")),
    ),
    "rotary of neighbours": Case(
        """
class Model(nn.Module):
    def forward(self, x, cos, sin):
        odd, even = x[..., 1::2], x[..., ::2]
        other = torch.stack((-odd, even), dim=-1).flatten(-2)
        return x * cos + other * sin
""",
        ((2, 3, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8)),
        'return torch_npu.npu_rotary_mul(x, cos, sin, rotary_mode="interleave")',
        ((', rotary_mode="interleave"', ""), ("(x, cos, sin, r", "(x, sin, cos, r")),
    ),
    "optimiser": Case(
        """
def train(steps=4):
    model = nn.Linear(4, 3).npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.5)
    for x in torch.ones(steps, 2, 4).npu():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]
""",
        (),
        "optimizer = torch_npu.optim.NpuFusedAdamW(model.parameters(), lr=1e-2, weight_decay=0.5)",
        (("weight_decay=0.5", "weight_decay=0.0"), ("NpuFusedAdamW", "NpuFusedAdam")),
    ),
    "attention": Case(
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.0)
        self.register_buffer("seen", torch.tril(torch.ones(4, 4)).view(1, 1, 4, 4))

    def forward(self, q, k, v):
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.seen[:, :, :4, :4] == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        weights = self.drop(weights)
        return weights @ v
""",
        ((2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 4, 8)),
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=~(self.seen[:, :, :4, :4] == 0), "
        "dropout_p=self.drop.p if self.training else 0.0)",
        (("attn_mask=~(", "attn_mask=("), ("(q, k, v,", "(k, q, v,"), ("else 0.0)", "else 0.0, scale=1.0)")),
    ),
    "attention with a scale": Case(
        """
class Model(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.scale = width**-0.3

    def forward(self, q, k, v, hidden):
        hidden = hidden > 1.0
        scores = torch.matmul(q, k.transpose(2, 3)) * self.scale
        scores = scores.masked_fill(hidden, -1e9)
        return torch.matmul(torch.softmax(scores, dim=-1).to(q.dtype), v)
""",
        ((2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 4, 8), (2, 1, 4, 4)),
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden, scale=self.scale)",
        (("~hidden", "hidden"), ("scale=self.scale", "scale=1.0"), (", scale=self.scale", "")),
    ),
    "gelu by tanh": Case(
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 12)

    def forward(self, x):
        x = self.up(x)
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))
        return 0.5 * x * (1 + torch.tanh(inner))
""",
        ((2, 3, 8),),
        'return F.gelu(x, approximate="tanh")',
        ((', approximate="tanh"', ""), ("F.gelu(x", "F.gelu(1.1 * x")),
    ),
    "gelu by erf": Case(
        """
def activate(x):
    return (torch.erf(x / math.sqrt(2.0)) + 1.0) * x / 2


class Model(nn.Module):
    def forward(self, x):
        return activate(2 * x)
""",
        ((2, 3, 8),),
        'return torch_npu.npu_gelu(x, approximate="none")',
        (('"none"', '"tanh"'), ("npu_gelu(x", "npu_gelu(-x")),
    ),
    "gelu of clip": Case(
        """
class Model(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)
""",
        ((2, 3, 8),),
        "return torch_npu.npu_fast_gelu(x)",
        (("torch_npu.npu_fast_gelu(x)", "F.gelu(x)"), ("npu_fast_gelu(x)", "npu_fast_gelu(-x)")),
    ),
    "group norm and silu": Case(
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.act = nn.GroupNorm(4, 8, eps=1e-2), nn.SiLU()
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)

    def forward(self, x):
        h = self.norm(x)
        h = self.act(h)
        return h
""",
        ((2, 8, 3, 3),),
        "h = torch_npu.npu_group_norm_swish(x, self.norm.num_groups, self.norm.weight.to(x.dtype), "
        "self.norm.bias.to(x.dtype), self.norm.eps)[0]",
        (("self.norm.num_groups", "2"), (", self.norm.eps)", ")"), ("self.norm.weight.to(x.dtype), self.norm.bias.to", "self.norm.bias.to(x.dtype), self.norm.weight.to")),
    ),
}  # fmt: skip


def fused(text: str, session: Session = FUSING) -> str:
    data = text.encode()
    result = analyse("model.py", data, session)
    assert not [f for f in result.findings if f.code == "PRT003"]
    return apply(data, result.auto).decode()


@pytest.mark.parametrize("name", CASES)
def test_the_operator_takes_the_place_of_all_that_it_computes(name: str) -> None:
    case = CASES[name]
    after = fused(HEAD + case.source)
    assert case.written in after
    assert after.count("\n") <= (HEAD + case.source).count("\n") + 1, "what fell away, and an import"
    assert fused(after) == after
    assert all(old in after for old, _ in case.mistakes)


@pytest.mark.parametrize("name", CASES)
def test_nothing_of_it_happens_unasked(name: str) -> None:
    text = HEAD + CASES[name].source
    result = analyse("model.py", text.encode(), open_session())
    assert result.auto == result.review == () and not any(f.edit for f in result.findings)
    assert fused(text, open_session(Target(style="portable"), fuse=True)) == text


@pytest.fixture(scope="module")
def differences(virtual_npu) -> dict[str, list[str]]:
    """Of each case, how what was written differs from what stood there, and how each mistake does."""
    programs = {}
    for name, case in CASES.items():
        inputs = f"\ninputs = lambda: [torch.randn(s) for s in {case.shapes}]\n"
        before = HEAD + case.source
        after = fused(before)
        wrong = [after.replace(old, new) for old, new in case.mistakes]
        programs[name] = [text + inputs for text in (before, after, *wrong)]
    return virtual_npu.differences(programs)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_operator_computes_what_stood_there(differences, name: str) -> None:
    assert differences[name][0] == ""


@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name, case in CASES.items() for at in range(len(case.mistakes))]
)
def test_a_mistake_would_be_seen(differences, name: str, at: int) -> None:
    assert differences[name][1 + at] != "", CASES[name].mistakes[at]


_LEFT = {
    "the weight may be a matrix": (
        "rms norm",
        "nn.Parameter(torch.ones(size))",
        "nn.Parameter(torch.ones(2, size))",
    ),
    "nobody knows the weight": ("rms norm", "nn.Parameter(torch.ones(size))", "make(size)"),
    "epsilon is a tensor": ("rms norm", "self.eps = eps", "self.eps = torch.tensor(eps)"),
    "the result has the type of something else": ("rms norm", "kind = x.dtype", "kind = self.scale.dtype"),
    "the gate is of another type": ("swiglu", "F.silu(gate) * up", "F.silu(gate.float()) * up"),
    "the result keeps float32": ("rms norm", "self.scale * x.to(kind)", "self.scale * x"),
    "the spread is returned, too": ("rms norm", "return self.scale * x.to(kind)", "return self.scale * x.to(kind), spread"),
    "something else reads a name": ("rms norm", "        x = x * torch", "        self.seen = spread\n        x = x * torch"),
    "a loop may have changed it": ("rms norm", "        x = x * torch", "        for _ in kind:\n            spread = 2 * spread\n        x = x * torch"),
    "a remark would fall away": ("rms norm", "x * torch.rsqrt(spread", "x * torch.rsqrt(  # of each\n            spread"),
    "a loop changes a half": (
        "swiglu",
        "        return F.silu(gate) * up",
        "        for _ in range(2):\n            out = F.silu(gate) * up\n            gate = gate + 1\n        return out",
    ),
    "the halves are crossed": ("swiglu", "F.silu(gate) * up", "F.silu(up) * gate"),
    "the halves are of rows": ("swiglu", "chunk(2, dim=-1)", "chunk(2, dim=1)"),
    "there are three parts": ("swiglu", "gate, up = both.chunk(2", "gate, up, _ = both.chunk(3"),
    "the parts differ in size": ("swiglu", "both.chunk(2", "both.split([4, 8]"),
    "halves overlap": ("swiglu by hand", "up = x[..., half:]", "up = x[..., half - 1 :]"),
    "the first column gates the rest": ("swiglu by hand", "half = x.shape[-1] // 2", "half = 1"),
    "the last column is gated by the rest": ("swiglu by hand", "half = x.shape[-1] // 2", "half = -1"),
    "types are mixed": ("rotary of neighbours", "x * cos + other * sin", "(x.float() * cos + other * sin).to(x.dtype)"),
    "it is turned the other way": ("rotary of neighbours", "(-odd, even)", "(-even, odd)"),
    "the second is turned": ("rotary of neighbours", "(-odd, even)", "(even, -odd)"),
    "it is taken off": ("rotary of neighbours", "x * cos + other", "x * cos - other"),
    "another tensor is turned": ("rotary of neighbours", "return x * cos", "return cos * cos"),
    "the optimiser keeps maxima": ("optimiser", "weight_decay=0.5", "amsgrad=True"),
    "gradients are clipped": ("optimiser", "        optimizer.step()", "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        optimizer.step()"),
    "parameters are bfloat16": ("optimiser", "model = nn.Linear(4, 3).npu()", "model = nn.Linear(4, 3, dtype=torch.bfloat16).npu()"),
    "the mask is added": ("attention with a scale", "scores.masked_fill(hidden, -1e9)", "scores + hidden"),
    "the mask is no mask": ("attention with a scale", "-1e9", "0.0"),
    "the scale is learnt": ("attention with a scale", "self.scale = width**-0.3", "self.scale = nn.Parameter(torch.ones(1))"),
    "the weights are wanted": ("attention", "return weights @ v", "return weights @ v, weights"),
    "nobody knows what drops": ("attention", "nn.Dropout(0.0)", "DropKey(0.0)"),
    "another dimension": ("attention", "F.softmax(scores, dim=-1)", "F.softmax(scores, dim=-2)"),
    "another number": ("gelu by tanh", "0.044715", "0.0447"),
    "half of it": ("gelu by erf", "* x / 2", "* x"),
    "a cast lies in between": ("gelu by erf", "torch.erf(x / math", "torch.erf(x.float() / math"),
    "the root is used again": ("gelu by tanh", "return 0.5", "self.seen = inner\n        return 0.5"),
    "the norm is read, too": ("group norm and silu", "return h", "return h + self.norm(x)"),
    "the layer may be another": ("group norm and silu", "self.norm, self.act =", "self.norm = None\n        self.norm, self.act ="),
    "the mask comes on a condition": ("attention", "        scores = scores.masked", "        if self.training:\n            scores = scores.masked"),
}  # fmt: skip


@pytest.mark.parametrize("reason", _LEFT)
def test_where_anything_is_in_doubt_nothing_is_written(reason: str) -> None:
    name, old, new = _LEFT[reason]
    text = HEAD + CASES[name].source
    assert old in text
    text = text.replace(old, new)
    assert fused(text) == text


def test_a_remark_behind_what_falls_away_stays() -> None:
    text = HEAD + CASES["swiglu"].source.replace("dim=-1)\n", "dim=-1)  # both [n, 12]\n")
    after = fused(text)
    assert "        # both [n, 12]\n" in after and "npu_swiglu" in after


def test_torch_npu_is_imported_once_and_the_rest_is_ported_as_ever() -> None:
    source = CASES["geglu"].source + CASES["rotary"].source.replace("Model", "Other") + "\n\nmodel = Model().cuda()\n"
    after = fused(HEAD + source)
    assert after.count("import torch_npu") == 1 and after.endswith("model = Model().npu()\n")


def test_a_suppression_and_a_selection_hold() -> None:
    text = HEAD + CASES["geglu"].source
    assert fused(text, open_session(fuse=True, quiet=Quiet(frozenset({"PRT612"})))) == text
    quiet = text.replace(
        "return x * F.gelu(gate)", "return x * F.gelu(gate)  # porter: ignore[PRT612, PRT311] measured"
    )
    assert fused(quiet) == quiet
