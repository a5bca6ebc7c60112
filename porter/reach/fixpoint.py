"""From the steps of every function to the ones that end in something: a least fixed point, so cycles end nowhere."""

from __future__ import annotations

from porter.reach.body import End


def solve(steps: dict[str, list]) -> dict[str, tuple[tuple[str, ...], End]]:
    """Of each function that cannot do its work: the shortest way there, and its end."""
    found: dict[str, tuple[tuple[str, ...], End]] = {}
    left = sorted(steps)
    while True:
        new = {key: way for key in left if (way := _way(key, steps[key], found))}
        if not new:
            return found
        found.update(new)  # all of one length at once: a longer way never hides a shorter one
        left = [key for key in left if key not in new]


def _way(key: str, items: list, found: dict) -> tuple[tuple[str, ...], End] | None:
    if (end := _first(items, found)) is None:
        return None
    if isinstance(end, End):
        return (key,), end
    way, last = found[end]
    return (key, *way), last


def _first(items: list, found: dict) -> End | str | None:
    for item in items:
        if isinstance(item, End) or isinstance(item, str) and item in found:
            return item
        if isinstance(item, tuple) and not isinstance(item, End):
            ways = [_first(way, found) for way in item]
            if None not in ways:
                return ways[0]
    return None
