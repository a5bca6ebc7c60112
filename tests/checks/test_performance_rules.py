"""Families 6 and 9: what is shown and never applied, what an edit keeps, and where a rule stays silent."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.checks.registry import load
from porter.engine.session import Session
from porter.finding import apply
from porter.report.json import document
from porter.report.model import Report, Scan
from porter.report.page import readiness
from porter.target import SOCS, Target
from porter.values.shapes import misfits

SESSION = open_session()
NORM = """\
import torch
from torch import nn


class Norm(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
"""


def codes(text: str, session: Session = SESSION, path: str = "train.py") -> list[str]:
    return [f.code for f in analyse(path, text.encode(), session).findings]


def ported(text: str) -> str:
    data = text.encode()
    return apply(data, analyse("train.py", data, SESSION).review).decode()


def test_what_would_not_run_counts_and_what_is_slow_does_not():
    text = """import torch
from torch import nn


class Shift(nn.Module):
    def forward(self, x):
        return x + torch.arange(x.size(-1))


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
        torch.cuda.empty_cache()
"""
    result = analyse("train.py", text.encode(), SESSION)
    found = {(f.code, f.severity, f.status) for f in result.findings}
    assert {("PRT637", "blocker", "review"), ("PRT630", "slow", "manual")} <= found
    report = Report("0", SESSION, Scan((result,)))
    findings = report.findings
    assert findings.readiness == (1, 2), "empty_cache by itself, arange after a look, and no host sync"
    assert readiness(document(report))["review"] == 1


def test_an_opportunity_is_shown_and_changes_nothing():
    result = analyse("norm.py", NORM.encode(), SESSION)
    (finding,) = result.findings
    assert (finding.code, finding.optional, finding.severity, finding.status) == ("PRT611", True, "note", "review")
    assert result.auto == result.review == finding.edit == ()
    report = Report("0", SESSION, Scan((result,)))
    findings = report.findings
    assert findings.open == (finding,) and findings.due == () and findings.readiness == (0, 0)
    assert not findings.fails("note") and not any(n for row in findings.table.values() for n in row.values())
    assert document(report)["summary"]["optional"] == 1 and document(report)["findings"][0]["optional"] is True


def test_what_is_slow_on_gpus_too_does_not_count_as_unported():
    text = "def f(model, batches):\n    import torch\n    for x in batches:\n        loss = model(x)\n        loss.backward()\n        print(loss)\n"
    result = analyse("a.py", text.encode(), SESSION)
    assert [(f.code, f.severity) for f in result.findings] == [("PRT630", "slow")]
    assert Report("0", SESSION, Scan((result,))).findings.readiness == (0, 0)


@pytest.mark.parametrize("soc", SOCS)
def test_the_consequence_of_a_shape_is_that_of_the_chip(soc):
    text = "from torch import nn\nclass A(nn.Module):\n    def forward(self, x):\n        return x.nonzero()\n"
    target = Target(soc=soc)
    (finding,) = analyse("a.py", text.encode(), open_session(target=target)).findings
    assert finding.why == ("compiled" if target.early else "shape")


def test_code_that_tests_is_slow_for_nobody():
    assert codes(NORM) == ["PRT611"]
    assert codes(NORM, path="tests/norm.py") == codes(NORM, path="test_norm.py") == []


def test_every_glance_is_asked_for():
    asked = {rule.only for rule in load().all if rule.only}
    for family in ("distributed", "export", "native", "performance"):
        module = import_module(f"porter.checks.{family}.prefilters")
        here = {look for look in vars(module).values() if getattr(look, "__module__", "") == module.__name__}
        assert {look for look in here if not look.__name__.startswith("_")} <= asked


def test_no_rule_of_these_families_asks_for_every_call():
    for rule in load().all:
        if re.match("PRT(6|9|21)", rule.code):
            assert ("Call" not in rule.nodes or rule.text and rule.only) and not rule.prefixes


def test_names_of_torch_npu_that_are_offered_exist():
    text = "\n".join((Path(__file__).parents[2] / "rules" / "performance.toml").read_text("utf-8").split("by_hand")[1:])
    names = set(re.findall(r"torch_npu\.(?:optim|contrib)[.\w]*\w", text))
    assert len(names) >= 3
    for version in ("2.7.1.post11", "2.13.0"):
        session = open_session(target=Target(torch_npu=version))
        assert [n for n in sorted(names) if not n.endswith("contrib.function") and not session.has(n)] == []


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("torch.jit.load(path)", 'torch.jit.load(path, map_location="cpu")'),
        ("torch.jit.load(path, )", 'torch.jit.load(path, map_location="cpu")'),
        ("torch.jit.load(\n    path\n)", 'torch.jit.load(\n    path,\n    map_location="cpu"\n)'),
        ("torch.jit.load(\n    path,  # here\n)", 'torch.jit.load(\n    path,  # here\n    map_location="cpu",\n)'),
        ("torch.jit.load(path\n)", 'torch.jit.load(path, map_location="cpu"\n)'),
    ],
)
def test_an_argument_is_added_in_the_layout_of_the_call(call, after):
    assert ported(f"import torch\nm = {call}\n") == f"import torch\nm = {after}\n"


DTYPES = ("float32", "float16", "float64", "int64", "int8", "uint8", "bool")
FILLS = ("0", "1", "0.0", "1.0", "-1", "-1.0", "-100", "127")
# what a negative float becomes as uint8, C leaves open, and it differs from machine to machine by an index alone, too
OPEN = {("uint8", "-1.0")}


@pytest.mark.parametrize(("dtype", "value"), [pair for pair in product(DTYPES, FILLS) if pair not in OPEN])
def test_a_fill_that_is_made_without_asking_does_the_same(needs_torch, dtype, value):
    import torch

    text = f"import torch\n\n\ndef loss(x: torch.Tensor):\n    x[x == 0] = {value}\n    return x\n"
    result = analyse("a.py", text.encode(), SESSION)
    assert [(f.code, f.status) for f in result.findings] == [("PRT602", "auto")]
    after = apply(text.encode(), result.auto).decode()
    assert "masked_fill_" in after
    kinds = []
    for source in (text, after):
        space: dict = {}
        exec(source.replace("import torch_npu  # noqa: F401\n", ""), space)
        kinds.append(space["loss"](torch.tensor([0, 1, 2, 0]).to(getattr(torch, dtype))))
    assert torch.equal(*kinds) and kinds[0].dtype == kinds[1].dtype


def test_what_lies_where_nothing_is_trained_is_slow_for_nobody() -> None:
    source = b"import torch\n\n\ndef step(model, x):\n    for y in x:\n        loss = model(y)\n        loss.backward()\n        print(loss.item())\n"
    assert [f.code for f in analyse("train.py", source, open_session()).findings] == ["PRT630"]
    for path in ("evaluation/probe.py", "demo/a.py", "bench.py"):
        assert not analyse(path, source, open_session()).findings


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int64", "int8", "bool"])
def test_a_sum_over_a_mask_is_that_of_the_whole(needs_torch, dtype):
    import torch

    text = "import torch\nfrom torch import nn\n\n\nclass Loss(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x[x > 0].sum()\n"
    result = analyse("a.py", text.encode(), SESSION)
    assert [(f.code, f.status) for f in result.findings] == [("PRT601", "auto")]
    answers = []
    for source in (text, apply(text.encode(), result.auto).decode()):
        space: dict = {}
        exec(source, space)
        answers.append(space["Loss"]()(torch.tensor([2, 0, 3, 1]).to(getattr(torch, dtype))))
    assert torch.equal(*answers) and answers[0].dtype == answers[1].dtype


@pytest.mark.parametrize("weight", ["", " * 3", " / 7"])
def test_a_sum_that_is_read_behind_the_loop_is_the_same_number(needs_torch, weight):
    import torch

    text = (
        "import torch\n\n\ndef train(model, batches):\n    total = 0\n    for x in batches:\n        loss = model(x).square().mean()\n"
        f"        loss.backward()\n        total += loss.item(){weight}\n    return total\n"
    )
    result = analyse("a.py", text.encode(), SESSION)
    assert [(f.code, f.why, f.status) for f in result.findings] == [("PRT630", "kept", "review")]
    after = apply(text.encode(), result.review).decode()
    assert ".item()" not in after
    sums = []
    for source in (text, after):
        space: dict = {}
        exec(source, space)
        torch.manual_seed(0)
        sums.append(space["train"](torch.nn.Linear(4, 2), torch.randn(20, 3, 4)))
        assert space["train"](None, []) == 0
    assert type(sums[1]) is float and sums[1] == pytest.approx(sums[0], rel=1e-5)


@pytest.mark.slow
def test_what_nobody_wrote_by_hand_is_read_in_good_time():
    """Sums of a thousand parts, values that double in every line, functions of many lines."""
    head = "import torch\n\n\ndef f(x, y, k):\n    z = torch.softmax(x @ k, -1)\n"
    long = head + "    return z + " + " + ".join(["y"] * 1500) + "\n"
    double = head + "    x, y = x * y, x + y\n" * 60 + "    return torch.softmax(x * y, -1) @ torch.rsqrt(x * y)\n"
    many = head + "    x = x * y + k\n" * 5000 + "    return x\n"
    casts = head + "    if y:\n        x = x.to(y.dtype)\n" * 60 + "    return x * torch.rsqrt(x.pow(2).mean(-1) + k)\n"
    method = "import torch\nfrom torch import nn\n\n\nclass M(nn.Module):\n    def forward(self, x, y, k):\n"
    masks = (
        method
        + "        x, y = x * y, x + y\n" * 80
        + "        m = (x > 0) & (y < 1)\n        x[m] = 0\n        return k[m].cos()\n"
    )
    picks = method + "".join(f"        x = x * y + k[y > {n}].cos()\n" for n in range(200)) + "        return x\n"
    for text in (long, double, many, casts, masks, picks):
        assert not [f for f in analyse("a.py", text.encode(), SESSION).findings if f.code.startswith("PRT0")]


def test_what_tests_make_on_the_host_or_the_device_is_theirs():
    text = """import torch
from torch import nn
from torch.utils.data import Dataset


class Shift(nn.Module):
    def forward(self, x):
        return x + torch.arange(x.size(-1))


class Rows(Dataset):
    def __getitem__(self, at):
        return torch.ones(at, device="npu")
"""
    wanted = {"PRT636", "PRT637"}
    assert wanted <= {*codes(text)}
    assert wanted.isdisjoint(codes(text, path="tests/test_shift.py"))


@pytest.mark.parametrize(
    ("width", "heads", "groups", "cure"),
    [
        (416, 8, None, (13, 32)),
        (1152, 16, None, (18, 64)),
        (416, 8, 8, (13, 32)),
        (416, 8, 4, None),
        (520, 10, None, None),
        (112, 2, None, None),
    ],
)
def test_another_number_of_heads_divides_the_width(width, heads, groups, cure):
    sizes = {"hidden_size": width, "num_attention_heads": heads}
    found = misfits(sizes | ({"num_key_value_heads": groups} if groups else {})).get("num_attention_heads")
    assert (found and (found.heads, found.new)) == cure


def test_a_number_that_is_no_width_is_not_divided():
    assert "num_attention_heads" not in misfits({"hidden_size": 10**18 + 8, "num_attention_heads": 1})


STEP = """import torch


class Net(torch.nn.Module):
    def forward(self, x):
        x = torch.relu(x)
        mask, loss = x > 0, x.sum()
        {line}
            x = x + 1
        return x
"""


@pytest.mark.parametrize("line", ["if mask.any():", "if x.max() > 3:", "if torch.isnan(loss):", "while loss > 3:"])
def test_the_page_of_waits_claims_the_conditions_that_are_told(line: str) -> None:
    found = [f.why for f in analyse("net.py", STEP.format(line=line).encode(), SESSION).findings if f.code == "PRT630"]
    assert found == ["ending" if line.startswith("while") else "condition"]
    page = SESSION.rules.texts.rule("PRT630").explain
    assert all("while loss > 3:" in text and "if mask.any():" in text for text in page.values())


@pytest.mark.slow
def test_a_long_row_of_sums_is_kept_on_the_device():
    """Whether one can be kept depends on all below it: each is asked once, and none through another."""
    names = [f"total{number}" for number in range(200)]
    text = "\n".join(
        [
            "def train(model, loader, optimizer):",
            *(f"    {name} = 0.0" for name in names),
            "    for batch in loader:",
            "        loss = model(batch).mean()",
            "        loss.backward()",
            "        optimizer.step()",
            *(f"        {name} += loss.item()" for name in names),
            f"    return {', '.join(names)}",
        ]
    )
    findings = analyse("train.py", f"import torch\n\n\n{text}\n".encode(), SESSION).findings
    assert [(f.code, f.why, f.status) for f in findings] == [("PRT630", "kept", "review")] * len(names)


@pytest.mark.parametrize(
    ("makes", "reads", "why"),
    [
        ("loss, hits = criterion(model(batch))", "total += hits.item()", "kept"),
        ("loss, hits = model(batch).mean(), model(batch).max()", "total += hits.item()", "summed"),
        ("out = loss = model(batch)", "total += loss.item()\n        holder.data = out.cpu()", "summed"),
        ("out = loss = model(batch)", "total += loss.item()\n        drawn = torch.rand(1).item()", "kept"),
        ("out = loss = model(batch)", "total += loss.item()\n        shown = out.cpu()", "summed"),
    ],
)
def test_what_comes_with_a_loss_and_what_is_read_below_a_sum(makes: str, reads: str, why: str) -> None:
    text = (
        "import torch\n\n\ndef train(model, loader, optimizer, criterion, holder):\n    total = 0.0\n    for batch in loader:\n"
        f"        {makes}\n        loss.backward()\n        optimizer.step()\n        {reads}\n    return total\n"
    )
    found = [f.why for f in analyse("train.py", text.encode(), SESSION).findings if f.code == "PRT630"]
    assert found == [why]


@pytest.mark.parametrize(
    ("version", "last", "new"),
    [
        ("2.7.1.post11", "p.grad.clamp_(-1, 1)", "get_total_norm"),
        ("2.7.1.post11", "p.grad.mul_(0.5)", "clip_grad_norm_"),
        ("2.1.0.post17", "p.grad.clamp_(-1, 1)", "clip_grad_norm_"),
    ],
)
def test_a_norm_is_taken_by_what_the_torch_of_the_target_has(version: str, last: str, new: str) -> None:
    text = f"import torch\n\n\ndef limit(ps):\n    total = 0\n    for p in ps:\n        total += p.grad.norm().item() ** 2\n        {last}\n    return total\n"
    session = open_session(target=Target(torch_npu=version))
    (finding,) = analyse("train.py", text.encode(), session).findings
    assert dict(finding.values)["new"] == new


@pytest.mark.parametrize(("line", "path", "told"), [
    ("", "tests/test_complex.py", False),
    ("", "net.py", True),
    ("    given = given.cuda()\n", "tests/test_complex.py", True),
])  # fmt: skip
def test_complex_numbers_of_a_test_that_stays_on_the_host(line, path, told):
    text = f"import torch\n\ndef test_it():\n    given = torch.randn(4, 4, dtype=torch.complex64)\n{line}    assert torch.abs(given).sum() > 0\n"
    assert ("PRT309" in codes(text, path=path)) is told
