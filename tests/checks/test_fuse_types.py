"""`migrate --fuse` and types: each form that is written, with weights and activations of each type, inside autocast and outside.

The table is in docs/reference.md, with what of it is known from documents; autocast's lists are torch_npu's own, the arithmetic
is that of the virtual NPU.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from test_fuse import CASES, FUSING, HEAD, fused

from porter.analysis.file import File
from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.engine.facts import Facts, SaidOnce
from porter.python.source import Source
from porter.rulebook.texts import Texts
from porter.values import dtypes, patterns
from porter.values.dtypes import ALWAYS, IF_ALL_FLOAT32
from porter.values.patterns import Match

MIXED = open_session(facts=Facts(once=SaidOnce(short_floats="train.py")), fuse=True)
MOST = 6  # roundings that results and gradients may be apart: the written-out form rounds after every step


class Form(NamedTuple):
    source: str
    shapes: tuple[tuple[int, ...], ...]
    agrees: str
    kinds: str = "aaaa"  # of each input: `a` of an activation, `w` kept with the weights


def _rms(body: str) -> str:
    return f"""
class Model(nn.Module):
    def __init__(self, size=8, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))
        nn.init.uniform_(self.weight, 0.5, 1.5)

    def forward(self, x):
{body}
"""


def _one(expression: str) -> str:
    return f"\nclass Model(nn.Module):\n    def forward(self, x):\n        return {expression}\n"


TURN = CASES["rotary"].source.partition("class")[0]
FORMS = {
    "rms norm, cast before the weight": Form(_rms("""        kind = x.dtype
        h = x.to(torch.float32)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * h.to(kind)"""), ((2, 3, 8),), IF_ALL_FLOAT32),
    "rms norm, cast after the weight": Form(_rms("""        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        h = h * self.weight.float()
        return h.type_as(x)"""), ((2, 3, 8),), ALWAYS),
    "rms norm without casts": Form(_rms(
        "        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight"), ((2, 3, 8),), IF_ALL_FLOAT32),
    "rms norm of products and a root": Form(_rms(
        "        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.weight"), ((2, 3, 8),), IF_ALL_FLOAT32),
    "swiglu": Form("""
class Model(nn.Module):
    def forward(self, x):
        gate, up = x.chunk(2, dim=-1)
        return F.silu(gate) * up
""", ((2, 3, 8),), ALWAYS),
    "geglu": Form(CASES["geglu"].source, ((2, 3, 8),), ALWAYS),
    "geglu by tanh": Form(CASES["geglu of the first half"].source, ((2, 3, 8),), ALWAYS),
    "gelu by tanh, a power": Form(_one("0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))"),
        ((2, 3, 8),), IF_ALL_FLOAT32),
    "gelu by tanh, an operator": Form(_one("0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))"),
        ((2, 3, 8),), IF_ALL_FLOAT32),
    "gelu by tanh, a product": Form(_one("0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))"),
        ((2, 3, 8),), ALWAYS),
    "gelu by erf": Form(_one("(torch.erf(x / math.sqrt(2.0)) + 1.0) * x / 2"), ((2, 3, 8),), ALWAYS),
    "gelu of clip": Form(_one("x * torch.sigmoid(1.702 * x)"), ((2, 3, 8),), ALWAYS),
    "group norm and silu": Form(CASES["group norm and silu"].source, ((2, 8, 3, 3),), IF_ALL_FLOAT32),
    "rotary": Form(TURN + """class Model(nn.Module):
    def forward(self, q, cos, sin):
        return (q * cos) + (turn(q) * sin)
""", ((2, 3, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8)), IF_ALL_FLOAT32, "aww"),
    "rotary, the angles cast": Form(TURN + """class Model(nn.Module):
    def forward(self, q, cos, sin):
        cos = cos.to(q.dtype)
        sin = sin.to(q.dtype)
        return (q * cos) + (turn(q) * sin)
""", ((2, 3, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8)), ALWAYS, "aww"),
    "rotary of neighbours": Form(CASES["rotary of neighbours"].source, ((2, 3, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8)), IF_ALL_FLOAT32, "aww"),
    "attention": Form("""
class Model(nn.Module):
    def forward(self, q, k, v):
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        return F.softmax(scores, dim=-1) @ v
""", ((2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 4, 8)), ALWAYS),
    "attention, cast back": Form("""
class Model(nn.Module):
    def forward(self, q, k, v):
        scores = torch.matmul(q, k.transpose(2, 3)) * 0.3
        scores = scores.masked_fill(torch.ones(4, 4, device=q.device).triu(1) > 0, float("-inf"))
        return torch.matmul(F.softmax(scores, dim=-1).to(q.dtype), v)
""", ((2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 4, 8)), ALWAYS),
    "attention, values of their own": Form("""
class Model(nn.Module):
    def forward(self, q, k, v):
        scores = torch.matmul(q, k.transpose(2, 3)) * 0.3
        return torch.matmul(F.softmax(scores, dim=-1).type_as(v), v)
""", ((2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 4, 8)), IF_ALL_FLOAT32, "aaw"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_where_types_may_differ_only_what_always_agrees_is_written(name: str) -> None:
    text = HEAD + FORMS[name].source
    assert fused(text) != text
    assert (fused(text, MIXED) != text) is (FORMS[name].agrees == ALWAYS)


@pytest.mark.parametrize("name", [n for n, form in FORMS.items() if form.agrees == IF_ALL_FLOAT32])
def test_what_is_not_written_names_the_condition(name: str) -> None:
    text = (HEAD + FORMS[name].source).encode()
    [said] = [f for f in analyse("model.py", text, MIXED).findings if f.why.endswith("-typed")]
    assert said.optional and not said.edit
    assert all(
        "autocast" in (Texts().message(said, lang) + Texts().details(said, lang)).lower() for lang in ("en", "zh")
    )
    [plain] = [f for f in analyse("model.py", text, FUSING).findings if f.edit]
    assert plain.why == said.why.removesuffix("-typed")


def test_parameters_that_may_be_bfloat16_keep_their_optimiser() -> None:
    text = HEAD + CASES["optimiser"].source
    session = open_session(facts=Facts(once=SaidOnce(short_floats="a.py", bfloat16="a.py")), fuse=True)
    assert fused(text, session) == text != fused(text, MIXED)


@pytest.fixture(scope="module")
def tables(virtual_npu) -> dict[str, dict[str, list]]:
    programs = {}
    for name, form in FORMS.items():
        inputs = f"\ninputs = lambda: [torch.randn(s) for s in {form.shapes}]\nKINDS = {form.kinds!r}\n"
        before = HEAD + form.source
        programs[name] = [before + inputs, fused(before) + inputs]
    return virtual_npu.types(programs)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_the_operator_gives_the_type_and_the_values(tables, name: str) -> None:
    table = tables[name]
    assert len(table) == 27
    taken = {setting: row for setting, row in table.items() if not row[0].startswith("raises")}
    apart = {setting: row for setting, row in taken.items() if row[0] != row[1] or row[2] > MOST}
    if FORMS[name].agrees == ALWAYS:
        assert not apart
    else:
        assert apart and "float32 float32 " not in apart, "float32 alone agrees"


def match_of(text: str) -> Match:
    """The computation that is replaced."""
    [several] = patterns.find(File("model.py", Source(text.encode()), FUSING)).values()
    return next(match for match in several if match.root is not None)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_porter_knows_the_type_that_torch_gives(tables, name: str) -> None:
    match = match_of(HEAD + FORMS[name].source)
    form, operands = FORMS[name], list(dict.fromkeys(dtypes._operands(match)))
    for setting, row in tables[name].items():
        weight, activation, autocast = setting.split(" ")
        kinds = form.kinds if len(operands) == len(form.shapes) else "aw"
        given = {o: activation if kind == "a" else weight for o, kind in zip(operands, kinds)}
        if row[0].startswith("raises mixed dtype (CPU)"):
            continue  # the kernel of the CPU, which does the arithmetic, takes no other weights
        try:
            assert dtypes.type_of(match.body.returned[0], dtypes.Setting(given, autocast)) == row[0], setting
        except dtypes.Raises:
            assert row[0].startswith("raises"), setting


_OPTIMISERS = """
import json, torch, torch_npu

def train(make, kind, autocast):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3).npu().to(kind)
    optimizer = make(model.parameters(), lr=1e-2, weight_decay=0.1, **({"eps": 1e-3} if "Adam" in make.__name__ else {}))
    for x in torch.ones(4, 2, 4).npu().to(kind):
        optimizer.zero_grad()
        with torch.autocast("npu", enabled=autocast is not None, dtype=autocast or torch.float16):
            loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    return [p.detach().cpu() for p in model.parameters()]

rows = {}
for name in ("SGD", "Adam", "AdamW", "Adadelta", "RMSprop"):
    for kind in (torch.float32, torch.float16, torch.bfloat16):
        for autocast in (None, torch.float16, torch.bfloat16):
            written = train(getattr(torch.optim, name), kind, autocast)
            try:
                fused = train(getattr(torch_npu.optim, f"NpuFused{name}"), kind, autocast)
            except TypeError as error:
                rows[f"{name} {kind} {autocast}"] = str(error)
                continue
            unit = torch.finfo(kind).eps
            assert all(w.dtype == f.dtype for w, f in zip(written, fused))
            rows[f"{name} {kind} {autocast}"] = max(float((w.double() - f.double()).abs().max() / unit) for w, f in zip(written, fused))
print(json.dumps(rows))
"""


@pytest.mark.slow
def test_optimisers_take_float32_and_float16_and_refuse_bfloat16(virtual_npu) -> None:
    done = virtual_npu.program(_OPTIMISERS)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = json.loads(done.stdout)
    assert len(rows) == 45
    for name, row in rows.items():
        if "bfloat16" in name.split(" ")[1]:
            assert "must be either float32 or float16" in row
        else:
            assert row < MOST, (name, row)
