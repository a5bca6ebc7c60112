"""Whether every call in a project asks a function for the first row alone."""

from __future__ import annotations

import pytest

from porter.project.single_rows import single_rows
from porter.python.trees import parse

TOOLS = b"""
def accuracy(output, target, topk=(1,)):
    maxk = max(topk)
    return output.topk(maxk, 1)[1].t()
"""


@pytest.mark.parametrize(
    ("calls", "single"),
    [
        ("from tools import *\naccuracy(a, b, topk=(1,))[0]", True),
        ("import tools\ntools.accuracy(a, b)\ntools.accuracy(a, b, [1])", True),
        ("import tools\ntools.accuracy(a, b)\ntools.accuracy(a, b, (1, 5))", False),
        ("import tools\ntools.accuracy(a, b, topk=args.topk)", False),
        ("import tools\ntools.accuracy(*both)", False),
        ("from tools import accuracy as score\nscore(a, b, (1, 5))", False),
        ("import tools\nprint tools.accuracy(a, b)", False),  # Python 2: nobody reads it
        ("import tools", False),
        ("import tools\ntools.accuracy(a, b)\nmeasure = partial(tools.accuracy, topk=(1, 5))", False),
    ],
)
def test_what_the_calls_ask_for(calls: str, single: bool) -> None:
    sources = {"tools.py": TOOLS, "train.py": calls.encode()}
    assert single_rows(sources, parse) == (("tools.py:accuracy",) if single else ())


def test_a_parameter_without_a_default() -> None:
    sources = {"tools.py": TOOLS.replace(b"=(1,)", b"") + b"\naccuracy(a, b)\n"}
    assert single_rows(sources, parse) == ()


@pytest.mark.parametrize(("given", "single"), [("", True), (", (1,)", True), (", (1, 5)", False)])
@pytest.mark.parametrize("head", ["self, output, target", "output, /, target"])
def test_the_place_of_the_parameter(head: str, given: str, single: bool) -> None:
    sources = {"tools.py": TOOLS.replace(b"output, target", head.encode()) + f"\nself.accuracy(a, b{given})\n".encode()}
    assert single_rows(sources, parse) == (("tools.py:accuracy",) if single else ())
