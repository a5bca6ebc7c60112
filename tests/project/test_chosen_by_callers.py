"""Whether all callers of a function choose the device."""

from __future__ import annotations

import ast

import pytest

from porter.project.chosen_by_callers import chooser

TREE = ast.parse("def start(rank):\n    pass\n")
CALL = b"start(\n        0,\n        seed=int(1),\n    )\n    torch.cuda.set_device(0)\n"


@pytest.mark.parametrize(
    ("text", "path"),
    [(CALL, "main.py"), (CALL.replace(b"set_device(0)", b"init()"), ""), (CALL.replace(b"int(1)", b"int(f(1))"), "")],
)
def test_its_callers(text: bytes, path: str) -> None:
    assert chooser(TREE, 2, "lib.py", lambda word: [("main.py", text)]) == path


@pytest.mark.slow
def test_a_call_with_calls_in_calls_costs_no_time() -> None:
    text = CALL.replace(b"int(1)", b"int(f(1))").replace(b"        0,\n", b"        0,\n" * 4000)
    assert chooser(TREE, 2, "lib.py", lambda word: [("main.py", text)]) == ""
