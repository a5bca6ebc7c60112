"""Selections through masks that porter rewrites: both forms compute the same, forwards and backwards, for random tensors;
a version with a mistake in it does not. And what is not shown to be the same is left alone."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.engine.facts import Facts
from porter.finding import apply
from porter.target import Target

HEAD = "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, x: torch.Tensor, y: torch.Tensor):\n"
SESSION = open_session()
SELECTIONS = {
    "summed": "        y = y + x[m].sum() * {}\n",
    "the same mask": "        y{0} = x[m]\n        z{0} = y{0}.cos()\n",
    "assigned": "        x[x > {}] = 0\n",
    "set anew": "        x = x[x > {}].cos().mean()\n",
}


class Case(NamedTuple):
    body: str
    status: str
    written: str
    mistakes: tuple[tuple[str, str], ...]  # (text, what to put in its place)


CASES = {
    "sum through a name": Case(
        "kept = (x > 0) & (y < 1)\npart = x[kept]\nreturn part.sum() + torch.sum(part) ** 2",
        "auto",
        "part = torch.where(kept, x, 0)",
        (("kept, x, 0", "~kept, x, 0"), ("x, 0)", "x, 1)"), ("kept, x, 0", "kept, y, 0")),
    ),
    "sum of what is made element by element": Case(
        "z = torch.sigmoid(x.clone()) * 2 - y\nreturn x[torch.isfinite(x)].sum() + z[z.abs() > 0.5].sum()",
        "auto",
        "torch.where(torch.isfinite(x), x, 0).sum()",
        (("isfinite(x), x, 0", "isnan(x), x, 0"),),
    ),
    "mean": Case(
        "small = ~(x > 0.3)\nreturn 3 * x[small].mean() - y[y > x].mean()",
        "review",
        "3 * torch.where(small, x, 0).sum().div(small.sum()) - torch.where(y > x, y, 0).sum().div((y > x).sum())",
        (("div(small", "div((~small)"), ("div(small.sum())", "div(small.numel())"), ("small, x, 0", "small, x, 1")),
    ),
    "count": Case(
        "large = x > 0.2\nreturn x.sum() * len(x[large]) + y.sum() * y[y > 0].size(0) + x[large].numel() + (x < y).nonzero().size(0)",
        "auto",
        "torch.count_nonzero(large).item() + torch.count_nonzero(x < y).item()",
        (
            ("count_nonzero(large)", "count_nonzero(~large)"),
            ("count_nonzero(x < y)", "count_nonzero(x > y)"),
            ("(y > 0).item", "(y).item"),
        ),
    ),
    "rows of whatever has some": Case(
        "return x.sum() * torch.nonzero(torch.relu(y)).size(0)",
        "auto",
        "torch.count_nonzero(torch.relu(y)).item()",
        (("torch.relu(y)", "y"),),
    ),
    "one tensor into another": Case(
        "z = y * 2\nmask = y > 0\nw = torch.zeros_like(y)\nz[mask] = w[mask]\nw[mask] = y[mask]\nreturn (z * w).sum() + (w ** 2).sum()",
        "auto",
        "w.copy_(torch.where(mask, y, w))",
        (("mask, y, w", "mask, w, y"), ("mask, w, z", "~mask, w, z")),
    ),
    "fill of what is made element by element": Case(
        "low = (x - 1).abs() < 0.7\nz = x * 3\nz[low] = 0\nreturn (z * y).sum()",
        "auto",
        "z.masked_fill_(low, 0)",
        (("(low, 0)", "(~low, 0)"), ("(low, 0)", "(low, 1)")),
    ),
    "fill if what an object keeps is a number": Case(
        "out = (x < self.start) | (x > 1)\nz = x.clone() - self.start\nz[out] = 0\nreturn (z * y).sum()",
        "review",
        "z.masked_fill_(out, 0)",
        (("(out, 0)", "(~out, 0)"),),
    ),
}


def source(body: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body.split("\n"))


def ported(text: str, status: str) -> str:
    result = analyse("model.py", text.encode(), SESSION)
    return apply(text.encode(), result.auto if status == "auto" else result.review).decode()


def answers(text: str) -> list:
    """The result and the gradients, for tensors with few and many chosen elements."""
    import torch

    space: dict = {}
    exec(text, space)
    space["Model"].start = 0.2
    found = []
    for seed, scale in ((0, 1.0), (1, 0.4), (2, 5.0)):
        torch.manual_seed(seed)
        x, y = (torch.randn(5, 7, dtype=torch.float64).mul_(scale).requires_grad_() for _ in range(2))
        result = space["Model"]()(x, y)
        found += [result.detach(), *torch.autograd.grad(result, (x, y), allow_unused=True)]
    return found


def same(a: list, b: list) -> bool:
    import torch

    both = zip(a, b, strict=True)
    return all(p is q or None not in (p, q) and torch.allclose(p, q, rtol=1e-12, equal_nan=True) for p, q in both)


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_stands_there(name):
    case = CASES[name]
    assert case.written in ported(source(case.body), case.status)
    if case.status == "review":
        assert case.written not in ported(source(case.body), "auto")


@pytest.mark.parametrize("name", CASES)
def test_both_forms_compute_the_same(needs_torch, name):
    case = CASES[name]
    before, after = source(case.body), ported(source(case.body), case.status)
    assert same(answers(before), answers(after))


@pytest.mark.parametrize(
    ("name", "mistake"),
    [(n, m) for n, case in CASES.items() for m in case.mistakes],
    ids=lambda v: v if isinstance(v, str) else v[1],
)
def test_a_mistake_shows(needs_torch, name, mistake):
    case = CASES[name]
    after = ported(source(case.body), case.status)
    assert mistake[0] in after
    assert not same(answers(source(case.body)), answers(after.replace(*mistake)))


@pytest.mark.parametrize(
    "body",
    [
        "kept = (x.sum(1) > 0)\nreturn x[kept].sum() + x[kept].mean()",  # whole rows
        "kept = x > 0\nx = x[:2]\nreturn x[kept].sum()",  # no longer that tensor
        "kept = x > 0\nif y is None:\n    kept = self.other\nreturn x[kept].mean()",
        "kept = x > 0\npart = x[kept]\nself.last = part\nreturn part.sum()",  # somebody else reads it
        "part = x[x > 0]\nreturn part.sum() + [p for p in part][0]",
        "part = x[x > 0]\nfor p in part:\n    x = x + p\nreturn part.sum()",
        "part = x[x > 0]\nreturn part.sum(0) + part.sum()",
        "part = x[x > 0]\nx[:1] = part[0]\nreturn part.sum() + part.norm()",
        "z = x * y\nz[x > 0] = y[x > 0]\nreturn z.sum()",  # x may be smaller than z
        "chosen = x.long()\nreturn x[chosen].mean() + len(x[chosen])",  # positions, and no mask
        "return x[y.nonzero(as_tuple=True)].mean() + len(y.nonzero(as_tuple=True))",
    ],
    ids=range(11),
)
def test_what_may_not_be_the_same_is_left_alone(body):
    text = source(body)
    assert ported(text, "review") == text


def test_what_the_chip_or_the_project_compiles_is_said():
    text = source("part = x[x > y.max()]\nreturn part.cos()").encode()

    def why(soc: str, setting: str = "") -> str:
        result = analyse("model.py", text, open_session(target=Target(soc=soc), facts=Facts(jit_compile=setting)))
        return result.findings[0].why

    assert (why("A2"), why("910"), why("310P"), why("A3")) == ("shape", "compiled", "compiled", "shape")
    assert (why("A2", "on"), why("910", "off")) == ("compiled", "shape")


def test_a_project_says_once_whether_it_compiles(tmp_path):
    from porter.run.gather import gather

    def said(*settings: str) -> str:
        for n, text in enumerate(settings):
            (tmp_path / f"m{n}.py").write_text(f"import torch\ntorch.npu.set_compile_mode(jit_compile={text})\n")
        return gather(tmp_path, [f"m{n}.py" for n in range(len(settings))]).jit_compile

    assert (said("True"), said("False"), said("True", "False"), said()) == ("on", "off", "", "")


@pytest.mark.slow
@pytest.mark.parametrize("line", SELECTIONS.values(), ids=SELECTIONS)
def test_work_grows_with_the_selections(line):
    """Counted is what porter itself runs: functions, and the rounds of what they generate."""
    counted = {}
    for n in (60, 240):
        body = "        m = x > 0\n" + "".join(line.format(i) for i in range(n)) + "        return x, y\n"
        text, counted[n] = (HEAD + body).encode(), 0
        analyse("a.py", text, SESSION)

        def count(frame, event, argument, n=n):
            counted[n] += event == "call" and "porter" in frame.f_code.co_filename

        sys.setprofile(count)
        try:
            analyse("a.py", text, SESSION)
        finally:
            sys.setprofile(None)
    assert counted[240] < counted[60] * 4 * 1.1, counted
