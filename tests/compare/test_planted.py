"""The faults that benchmarks/compare_runs.py --virtual-npu plants: each fits, and leaves a program."""

from __future__ import annotations

import ast
import random
import re
import runpy
from pathlib import Path

import pytest

from porter.compare.verdict import STAGES

PLANTED = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "planted.py"))
KINDS = PLANTED["kinds"]()


@pytest.mark.slow
@pytest.mark.parametrize("fault", PLANTED["FAULTS"])
def test_a_fault_can_be_planted_in_each_way(fault):
    stage, ways = PLANTED["FAULTS"][fault]
    assert stage in STAGES
    made = {kind: PLANTED["plants"](fault, text) for kind, text in KINDS.items()}
    for kind, texts in made.items():
        for text in texts:
            assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(KINDS[kind]))
    for old, _ in ways:  # none that fits nowhere
        assert any(re.search(old, text) for text in KINDS.values()), old


@pytest.mark.parametrize("seed", range(5))
def test_a_draw_has_each_fault_in_another_kind(seed):
    drawn = list(PLANTED["drawn"](random.Random(seed), 12))
    assert len({fault for fault, _, _ in drawn}) == len({kind for _, kind, _ in drawn}) == 12
    assert all(text != KINDS[kind] for _, kind, text in drawn)
    assert drawn == list(PLANTED["drawn"](random.Random(seed), 12))
