"""A unified diff as bytes, made from the edits themselves: linear, applied cleanly by `git apply` and `patch -p1`."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from porter.finding import Change, apply

CONTEXT = 3
NO_NEWLINE = b"\n\\ No newline at end of file\n"
Row = tuple[bytes, bytes]  # b" ", b"-" or b"+", and the line


def unified(path: str, data: bytes, after: Sequence[Change], before: Sequence[Change] = ()) -> bytes:
    """From `data` with the edits `before` to `data` with the edits `after`; empty where they come to the same."""
    rows = list(_rows(data, before, after))
    body = b"".join(_hunks(rows))
    return b"--- " + _name("a/", path) + b"\n+++ " + _name("b/", path) + b"\n" + body if body else b""


def _rows(data: bytes, before: Sequence[Change], after: Sequence[Change]) -> Iterator[Row]:
    lines = _lines(data)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    index = 0
    for start, end, *sides in _regions(data, starts, before, after):
        yield from ((b" ", line) for line in lines[index:start])
        index, low = end, starts[start]
        old, new = (
            _lines(apply(data[low : starts[end]], tuple(Change(c.start - low, c.end - low, c.new) for c in side)))
            for side in sides
        )
        head, tail = shared(old, new)
        yield from ((b" ", line) for line in old[:head])
        yield from ((b"-", line) for line in old[head : len(old) - tail])
        yield from ((b"+", line) for line in new[head : len(new) - tail])
        yield from ((b" ", line) for line in old[len(old) - tail :])
    yield from ((b" ", line) for line in lines[index:])


def _regions(data: bytes, starts: list[int], before: Sequence[Change], after: Sequence[Change]) -> list[list[Any]]:
    """[first line, line behind the last, changes of one side, changes of the other]: apart from each other."""
    regions: list[list[Any]] = []
    open_end = not data.endswith(b"\n")
    tagged = [(c, 2) for c in before] + [(c, 3) for c in after]
    for change, side in sorted(tagged, key=lambda item: (item[0].start, item[0].end)):
        first, behind = _touched(change, starts, open_end)
        if not regions or first > regions[-1][1]:
            regions.append([first, behind, [], []])
        regions[-1][1] = max(regions[-1][1], behind)
        regions[-1][side].append(change)
    return regions


def _touched(change: Change, starts: list[int], open_end: bool) -> tuple[int, int]:
    """The first line that `change` touches, and the line behind the last one; none for whole lines put in between."""
    count = len(starts) - 1
    first = bisect_right(starts, change.start) - 1
    if first == count and open_end:
        first = max(count - 1, 0)  # behind the last character of a line that has no newline
    if starts[first] == change.start == change.end and change.new.endswith(b"\n"):
        return first, first
    # a newline may be taken away at the end: the line behind it is part of what changes
    return first, min(max(bisect_right(starts, change.end), first + 1), count)


def _hunks(rows: list[Row]) -> Iterator[bytes]:
    changed = [n for n, (tag, _) in enumerate(rows) if tag != b" "]
    groups: list[list[int]] = []
    for n in changed:
        if groups and n - groups[-1][1] - 1 <= 2 * CONTEXT:
            groups[-1][1] = n
        else:
            groups.append([n, n])
    old = new = row = 0  # lines of either side above `row`
    for first_row, last_row in groups:
        low, high = max(first_row - CONTEXT, 0), min(last_row + CONTEXT + 1, len(rows))
        old, new = old + low - row, new + low - row  # rows between two hunks are on both sides
        olds = sum(tag != b"+" for tag, _ in rows[low:high])
        news = sum(tag != b"-" for tag, _ in rows[low:high])
        yield b"@@ -%s +%s @@\n" % (_range(old, olds), _range(new, news))
        yield from (tag + line if line.endswith(b"\n") else tag + line + NO_NEWLINE for tag, line in rows[low:high])
        old, new, row = old + olds, new + news, high


def _lines(data: bytes) -> list[bytes]:
    """Split as git and patch split: at line feeds, nowhere else."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def shared(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many rows both begin with, and how many of the others both end with."""
    head = _same(old, new)
    return head, _same(old[head:][::-1], new[head:][::-1])


def _same(left: Sequence[object], right: Sequence[object]) -> int:
    return next((n for n, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))


def _range(above: int, count: int) -> bytes:
    return b"%d,%d" % (above + 1 if count else above, count)


def _name(side: str, path: str) -> bytes:
    name = os.fsencode(side + path)
    if any(c < 32 or c in b'"\\' for c in name):
        named = {9: b"\\t", 10: b"\\n", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}
        return b'"' + b"".join(named.get(c) or (b"\\%03o" % c if c < 32 else bytes([c])) for c in name) + b'"'
    return name + b"\t" if b" " in name else name
