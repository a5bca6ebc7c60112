"""Holds values by step in bounded memory. Beyond a limit it keeps only steps that a power of two divides, alike in every run."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from statistics import median

FIRST = 4096  # steps that are always kept
LIMIT = 1 << 18  # values that are kept, at most
HUGE = 1e150  # larger values count as infinite: the square of one is not finite
MOST_STEPS = 1 << 53  # larger steps are not exact in a float
DIGITS = 200  # the first values; their digits show how a run rounds what it prints
INTERVALS = 64  # the first steps; their distances show how often a run logs


class Series:
    """The values of one name in one run, by step.

    `repeated`: how many values replaced another one of the same step. `rewound`: how often a run went back to an earlier step.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.steps, self.values = array("q"), array("d")
        self.stride = 1
        self.repeated = self.rewound = self.seen = 0
        self._limit = max(limit, 2 * FIRST)

    def add(self, step: int, value: float) -> None:
        self.seen += 1
        if step % self.stride and step > FIRST:
            return
        steps = self.steps
        if steps and step <= steps[-1]:
            self._again(step, value)
            return
        steps.append(step)
        self.values.append(value if -HUGE < value < HUGE else tamed(value))  # the test is here for speed
        if len(steps) > self._limit:
            self._thin()

    def _again(self, step: int, value: float) -> None:
        """A step that is not later than the last one: the same step again, or the run went back."""
        at = bisect_left(self.steps, step)
        if self.steps[at] == step and at == len(self.steps) - 1:
            self.repeated += self.values[at] != value
            self.values[at] = tamed(value)
            return
        self.rewound += 1
        del self.steps[at:], self.values[at:]
        self.steps.append(step)
        self.values.append(tamed(value))

    def _thin(self) -> None:
        while len(self.steps) > self._limit // 2 + FIRST:
            self.stride *= 2
            kept = [(s, v) for s, v in zip(self.steps, self.values) if s <= FIRST or s % self.stride == 0]
            self.steps, self.values = array("q", (s for s, _ in kept)), array("d", (v for _, v in kept))
            if self.stride > MOST_STEPS:
                break

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, step: int) -> float | None:
        index = bisect_left(self.steps, step)
        return self.values[index] if index < len(self.steps) and self.steps[index] == step else None

    def moved(self, by: int) -> Series:
        """The same values, `by` steps later."""
        other = Series(self._limit)
        other.steps, other.values = array("q", (s + by for s in self.steps)), self.values
        other.stride, other.repeated, other.rewound, other.seen = self.stride, self.repeated, self.rewound, self.seen
        return other

    def averaged(self, interval: int) -> Series:
        """The mean of each `interval` steps, at the last of them, as a run that logs less often may print it."""
        other, total, count = Series(self._limit), 0.0, 0
        for step, value in zip(self.steps, self.values):
            total, count = total + value, count + 1
            if step % interval == 0:
                other.add(step, total / count)
                total, count = 0.0, 0
        return other

    @property
    def interval(self) -> int:
        """How many steps lie between two values."""
        apart = [two - one for one, two in pairwise(self.steps[:INTERVALS])]
        return int(median(apart)) if apart else 0

    @cached_property
    def spelled(self) -> tuple[int, int]:
        """(most digits behind the point, most digits in all) of the first values."""
        return _spelled([v for v in self.values[:DIGITS] if math.isfinite(v)])

    def digit(self, value: float) -> float:
        """How much the last printed digit of a value is worth, as the first values are printed."""
        places, significant = self.spelled
        size = math.floor(math.log10(abs(value))) if value else -places
        return max(10.0**-places, 10.0 ** (size - significant + 1))


def tamed(value: float) -> float:
    """The value; infinity where it is larger than HUGE."""
    return math.copysign(math.inf, value) if abs(value) > HUGE else value


def pairs(one: Series, other: Series) -> Iterator[tuple[int, float, float]]:
    """(step, value, value) of the steps that both have."""
    mine, theirs = one.steps, other.steps
    i = j = 0
    while i < len(mine) and j < len(theirs):
        if mine[i] == theirs[j]:
            yield mine[i], one.values[i], other.values[j]
            i, j = i + 1, j + 1
        elif mine[i] < theirs[j]:
            i += 1
        else:
            j += 1


def _spelled(values: list[float]) -> tuple[int, int]:
    places = significant = 0
    for value in values:
        mantissa, _, exponent = repr(abs(value)).partition("e")
        whole, _, fraction = mantissa.partition(".")
        fraction = fraction.rstrip("0")
        places = max(places, len(fraction) - int(exponent or 0))
        significant = max(significant, len((whole + fraction).strip("0")))
    return min(places, 300), significant
