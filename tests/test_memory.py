"""What one analysis leaves behind: nothing. A tree that waits for the collector costs memory, and time for each file."""

from __future__ import annotations

import ast
import gc

import libcst as cst
import pytest
from test_fixtures import CASES, beside, called, session

from porter.analyse import analyse


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_trees_are_freed_without_the_collector(case):
    with_facts, name = session(case), called(case)
    data = beside(case, "before").read_bytes()
    analyse(name, data, with_facts)  # what is loaded once is loaded
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        analyse(name, data, with_facts)
        gc.collect()
        left = {type(o).__name__ for o in gc.garbage if isinstance(o, (ast.stmt, ast.expr, cst.CSTNode))}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left
