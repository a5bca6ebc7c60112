"""Curves as lines of SVG, which need no script, print, and weigh a few kilobytes whatever their length."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDE, HIGH, POINTS = 600, 120, 300

Points = Sequence[tuple[float, float]]


def thinned(points: Points, most: int = POINTS) -> list[tuple[float, float]]:
    """At most `most` points: of each piece its lowest and its highest, so that no jump is lost. Only finite ones."""
    finite = [(x, y) for x, y in points if math.isfinite(y)]
    size = -(-2 * len(finite) // most) if len(finite) > most else 1
    if size == 1:
        return finite
    kept = []
    for start in range(0, len(finite), size):
        piece = finite[start : start + size]
        ends = {min(piece, key=lambda point: point[1]), max(piece, key=lambda point: point[1])}
        kept += sorted(ends)
    return kept


def scale(lines: Sequence[Points]) -> tuple[float, float, float, float]:
    """(first, last, low, high) of all points together."""
    xs, ys = [x for line in lines for x, _ in line], [y for line in lines for _, y in line]
    return min(xs), max(xs), min(ys), max(ys)


def polyline(points: Points, within: tuple[float, float, float, float]) -> str:
    first, last, low, high = within
    return " ".join(
        f"{WIDE * (x - first) / ((last - first) or 1):.1f},{HIGH - HIGH * (y - low) / ((high - low) or 1):.1f}"
        for x, y in points
    )
