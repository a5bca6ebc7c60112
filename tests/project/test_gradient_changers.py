"""Functions that take away what a fused optimiser keeps: gradients that are replaced, parameters that are frozen."""

from __future__ import annotations

import pytest

from porter.project.gradient_changers import gradient_changers

CHANGES = [
    "p.grad = None",
    "p.grad = torch.zeros_like(p)",
    "del p.grad",
    "p.requires_grad = False",
    "p.requires_grad = wanted",
    "p.requires_grad_(False)",
]
LEAVES = [
    "p.grad *= 2",
    "p.grad.zero_()",
    "return p.grad == None",
    "x.requires_grad_()",
    "p.requires_grad_( True)",
    "x.requires_grad = True",
    "grid.requires_grad = False",
    "x = torch.zeros(2, requires_grad=False)",
]


def method(line: str, name: str = "cancel") -> bytes:
    body = f"        for p in self.parameters():\n# a comment\n\n            if p.dim() > 1:\n                {line}\n"
    return f"import torch\n\n\nclass Net:\n    def {name}(self, wanted):\n{body}".encode()


@pytest.mark.parametrize("line", CHANGES)
def test_what_changes_gradients(line):
    assert gradient_changers({"net.py": method(line)}) == ("cancel",)
    assert gradient_changers({"net.py": f"def freeze(p, wanted):\n    {line}\n".encode()}) == ("freeze",)
    assert gradient_changers({"tests/test_net.py": method(line)}) == ()


@pytest.mark.parametrize("line", LEAVES)
def test_what_leaves_them(line):
    assert gradient_changers({"net.py": method(line)}) == ()


@pytest.mark.parametrize("name", ["__init__", "train", "forward"])
def test_names_that_say_nothing(name):
    assert gradient_changers({"net.py": method(CHANGES[0], name)}) == ()


def test_the_innermost_function_counts():
    body = "    def inner():\n        p.grad = None\n        p.grad = p.old\n\n    for p in ps:\n        del p.grad\n"
    assert gradient_changers({"net.py": f"def outer(ps):\n    x = 1\n\n{body}".encode()}) == ("inner", "outer")
    assert gradient_changers({"net.py": f"def last(ps):\n    pass\n\n\nif 1:\n    {CHANGES[0]}\n".encode()}) == ()


def test_outside_of_functions():
    assert gradient_changers({"run.py": b"for p in net.parameters():\n    p.grad = None\n"}) == ()
