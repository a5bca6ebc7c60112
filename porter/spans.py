"""Runs of lines of a file, or of its characters, none inside another: in which of them does one stand?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter

Span = tuple[int, int]  # the first and the last one
_first = itemgetter(0)


def outermost(spans: Iterable[Span]) -> list[Span]:
    """Sorted, without those inside another."""
    kept: list[Span] = []
    for first, last in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or last > kept[-1][1]:
            kept.append((first, last))
    return kept


def span_of(line: int, spans: Sequence[Span]) -> Span | None:
    """`spans`: as `outermost` leaves them."""
    place = bisect_right(spans, line, key=_first) - 1
    return spans[place] if place >= 0 and line <= spans[place][1] else None
