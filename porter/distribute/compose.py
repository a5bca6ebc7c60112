"""Puts edits of a text that was edited already on top of the first ones: one list of edits of the old bytes."""

from __future__ import annotations

from collections.abc import Sequence

from porter.finding import Change, apply


def composed(data: bytes, first: Sequence[Change], second: Sequence[Change]) -> tuple[Change, ...]:
    """`first` are edits of `data`, `second` edits of what they make of it; both sorted, without overlaps."""
    middle, made = apply(data, tuple(first)), _made(first)
    clusters: list[list[int]] = []
    for start, end in sorted([(s, e) for s, e, _ in made] + [(c.start, c.end) for c in second]):
        if clusters and start <= clusters[-1][1]:
            clusters[-1][1] = max(clusters[-1][1], end)
        else:
            clusters.append([start, end])
    out = []
    for start, end in clusters:
        inner = tuple(
            Change(c.start - start, c.end - start, c.new) for c in second if start <= c.start and c.end <= end
        )
        text = apply(middle[start:end], inner)
        out.append(Change(_before(made, start, False), _before(made, end, True), text))
    return tuple(out)


def line_before(data: bytes, first: Sequence[Change], line: int) -> int:
    """The line of the old text that a line of the new one was, or stands behind."""
    middle = apply(data, tuple(first))
    starts = [0, *(n + 1 for n, byte in enumerate(middle) if byte == 10)]
    old = _before(_made(first), starts[min(line, len(starts)) - 1], True)
    return data[:old].count(b"\n") + 1


def _made(changes: Sequence[Change]) -> list[tuple[int, int, Change]]:
    """Where each edit stands in the new text."""
    shift, made = 0, []
    for change in changes:
        start = change.start + shift
        made.append((start, start + len(change.new), change))
        shift += len(change.new) - (change.end - change.start)
    return made


def _before(made: Sequence[tuple[int, int, Change]], offset: int, behind: bool) -> int:
    """The place in the old bytes. At the edge of a first edit: in front of it, or `behind` it."""
    shift = 0
    for start, end, change in made:
        if start < offset or (behind and start <= offset and end <= offset):
            shift += (change.end - change.start) - (end - start)
    return offset + shift
