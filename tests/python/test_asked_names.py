"""What is asked of names and of the places around them, of a file that is read as a run reads it."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from porter.analysis.parsed import Parsed
from porter.analysis.session import open_session
from porter.python.assigned import values_of
from porter.python.index import Link
from porter.python.source import Source
from porter.python.stopping import stops_without_gpu

SESSION = open_session()


def parsed(text: str) -> Parsed:
    return Parsed("train.py", Source(text.encode()), SESSION)


def question(text: str) -> Link:
    return next(link for link in parsed(text).buckets[ast.Call] if "torch.cuda" in ast.unparse(link[0].func))


def test_a_star_is_no_value_of_a_name():
    file = parsed("device, n = *where, 8\nuse(device, n)\n")
    device, n = (link for link in file.names.uses if link[0].id in ("device", "n") and link[0].lineno == 2)
    assert values_of(file.names, device[0], device) == []
    assert [ast.unparse(value) for value in values_of(file.names, n[0], n)] == ["8"]


GOES = "train()"
STOPS = "raise RuntimeError"


@pytest.mark.parametrize(
    ("condition", "with_gpu"),
    [
        ("torch.cuda.is_available()", True),
        ("not torch.cuda.is_available()", False),
        ("torch.cuda.is_available() == True", True),
        ("torch.cuda.is_available() is True", True),
        ("torch.cuda.is_available() != True", False),
        ("torch.cuda.is_available() is not True", False),
        ("torch.cuda.is_available() == False", False),
        ("torch.cuda.is_available() is False", False),
        ("torch.cuda.is_available() != False", True),
        ("not (torch.cuda.is_available() == True)", False),
        ("(not torch.cuda.is_available()) == True", False),
        ("torch.cuda.device_count() == 8", True),
        ("torch.cuda.device_count() != 8", False),
        ("torch.cuda.device_count() > 0", True),
        ("torch.cuda.device_count() == 0", False),
        ("torch.cuda.device_count() < 1", False),
        ("torch.cuda.device_count() < args.gpus", False),
        ("torch.cuda.device_count() >= args.gpus", True),
    ],
)
def test_which_branch_ends_without_a_gpu(condition, with_gpu):
    """`with_gpu`: what the condition is with one."""
    stops_below = f"if {condition}:\n    {GOES}\nelse:\n    {STOPS}\n"
    stops_at_once = f"if {condition}:\n    {STOPS}\nelse:\n    {GOES}\n"
    assert stops_without_gpu(question(stops_below)) is with_gpu
    assert stops_without_gpu(question(stops_at_once)) is not with_gpu


@pytest.mark.parametrize("condition", ["torch.cuda.current_device() is None", "x or torch.cuda.is_available() == True"])
def test_where_nobody_knows_nothing_ends(condition):
    for one, other in ((GOES, STOPS), (STOPS, GOES)):
        assert not stops_without_gpu(
            question(f"if {condition}:\n{indent(one, '    ')}\nelse:\n{indent(other, '    ')}\n")
        )
