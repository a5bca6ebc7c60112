"""Nets of benchmarks/drawn_dumps.py: whatever is drawn, no call is blamed that is not at fault."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from checkpoint_world import numpy
from drawn import examples

numpy()
judged = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "drawn_dumps.py"))["judged"]


@pytest.mark.slow
def test_a_wrong_call_is_never_named_and_a_right_one_is():
    answers = [judged(seed) for seed in range(examples(60))]
    assert "wrong" not in [answer for _, _, answer in answers]
    assert [answer for _, has_fault, answer in answers if not has_fault] == ["none"] * sum(
        not each[1] for each in answers
    )
    assert any(answer == "right" for _, _, answer in answers)
