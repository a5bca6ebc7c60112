"""Runs of lines, of which none stands inside another."""

from __future__ import annotations

import pytest

from porter.spans import outermost, span_of

NESTED = [(5, 9), (1, 3), (6, 7), (5, 6), (9, 9), (12, 12), (1, 3)]


def test_what_stands_inside_another_falls_away():
    assert outermost(NESTED) == [(1, 3), (5, 9), (12, 12)]
    assert outermost([]) == []


@pytest.mark.parametrize(
    ("line", "span"),
    [(0, None), (1, (1, 3)), (3, (1, 3)), (4, None), (9, (5, 9)), (10, None), (12, (12, 12)), (13, None)],
)
def test_the_run_that_a_line_stands_in(line, span):
    assert span_of(line, outermost(NESTED)) == span
    assert span_of(line, []) is None
