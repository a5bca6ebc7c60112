"""Which functions of a library end in what no NPU has: whenever they are called, or under a condition on a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from porter.reach.body import End, Perhaps, Steps

Way: TypeAlias = tuple[tuple[str, ...], End]  # keys, and what it ends in


def solve(steps: dict[str, Steps]) -> dict[str, Way]:
    """Of each function that cannot do its work: the shortest way there, and its end. A least fixed point: cycles end
    nowhere."""
    ways: dict[str, Way] = {}
    left = sorted(steps)
    while True:
        new = {key: way for key in left if (way := _way(key, steps[key], ways))}
        if not new:
            return ways
        ways.update(new)  # all of one length at once: a longer way never hides a shorter one
        left = [key for key in left if key not in new]


def _way(key: str, items: Steps, known_ways: Mapping[str, Way]) -> Way | None:
    if (end := _first(items, known_ways)) is None:
        return None
    if isinstance(end, End):
        return (key,), end
    way, final_end = known_ways[end]
    return (key, *way), final_end


def _first(items: Steps, known_ways: Mapping[str, Way]) -> End | str | None:
    for item in items:
        if isinstance(item, End) or isinstance(item, str) and item in known_ways:
            return item
        if isinstance(item, tuple) and not isinstance(item, End):
            ways = [_first(way, known_ways) for way in item]
            if None not in ways:
                return ways[0]
    return None


def sometimes(steps: Mapping[str, Steps], ways: Mapping[str, Way]) -> dict[str, tuple[Way, str]]:
    """Of the other functions, those that get there where a condition holds; and the condition, as it is written."""
    found: dict[str, tuple[Way, str]] = {}
    left = sorted(steps.keys() - ways.keys())
    while True:
        new = {key: way for key in left if (way := _sometimes(key, steps[key], ways, found))}
        if not new:
            return found
        found.update(new)
        left = [key for key in left if key not in new]


def _sometimes(
    key: str, items: Steps, ways: Mapping[str, Way], found: Mapping[str, tuple[Way, str]]
) -> tuple[Way, str] | None:
    for item in items:
        if isinstance(item, str) and item in found:
            (below, end), when = found[item]
            return ((key, *below), end), when
        if isinstance(item, Perhaps):
            if way := _way(key, item.steps, ways):
                return way, item.when
            if inner := _sometimes(key, item.steps, ways, found):
                return inner
    return None
