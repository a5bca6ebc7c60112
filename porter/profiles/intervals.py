"""When something was busy, in bounded memory: many intervals, of which the union counts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

MOST = 1 << 19  # intervals that are held
_FIRST_GAP = 1000  # nanoseconds: what is closed first where intervals are too many

Pair = tuple[int, int]


class Busy:
    """Nanoseconds. Beyond MOST separate intervals the smallest gaps are closed; `closed` says how much they were."""

    def __init__(self) -> None:
        self._starts, self._ends = array("q"), array("q")
        self._gap = self.closed = 0
        self._limit = MOST

    def add(self, start: int, end: int) -> None:
        if end <= start:
            return
        ends = self._ends
        if ends and self._starts[-1] <= start <= ends[-1]:  # most of a trace is in order
            ends[-1] = max(ends[-1], end)
            return
        self._starts.append(start)
        ends.append(end)
        if len(ends) > self._limit:
            self._compact()

    def pairs(self) -> list[Pair]:
        """In order, apart from each other."""
        return list(_joined(sorted(zip(self._starts, self._ends)), 0))

    def _compact(self) -> None:
        pairs = self.pairs()
        while len(pairs) > MOST // 2:
            self._gap = 2 * self._gap or _FIRST_GAP
            wide = list(_joined(pairs, self._gap))
            self.closed += total(wide) - total(pairs)
            pairs = wide
        self._starts = array("q", (start for start, _ in pairs))
        self._ends = array("q", (end for _, end in pairs))


def union(*parts: Iterable[Pair]) -> list[Pair]:
    return list(_joined(sorted(pair for part in parts for pair in part), 0))


def total(pairs: Iterable[Pair]) -> int:
    return sum(end - start for start, end in pairs)


def clipped(pairs: Iterable[Pair], start: int, end: int) -> list[Pair]:
    return [(max(a, start), min(b, end)) for a, b in pairs if a < end and b > start]


def _joined(pairs: Iterable[Pair], gap: int) -> Iterator[Pair]:
    """Of sorted intervals, those no further from each other than `gap` as one."""
    last: Pair | None = None
    for start, end in pairs:
        if last is None:
            last = (start, end)
        elif start - last[1] <= gap:
            last = (last[0], max(last[1], end))
        else:
            yield last
            last = (start, end)
    if last is not None:
        yield last
