"""Two runs, side by side: the same ranks, and the same steps."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field, replace
from functools import cached_property

from porter.compare.run import UPDATE, Run
from porter.compare.series import Series, pairs
from porter.compare.tolerance import ALIKE, UNKNOWN, Tolerance, tolerance
from porter.compare.verdict import Fact
from porter.logs.records import GRADIENT, LOSS, RATE

FLOOR = 1e-3  # of the largest loss: below it, a loss counts as if it were so large


@dataclass
class Curve:
    """The values of both runs at the steps that both have."""

    steps: array[int]
    one: array[float]
    other: array[float]


@dataclass
class Pair:
    """`shift`: what is added to the steps of the candidate. `averaged`: every how many steps the means of one run stand
    for the values of the other."""

    baseline: Run
    candidate: Run
    rerun: Run | None = None
    shift: int = 0
    averaged: int = 0
    notes: list[Fact] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.ranks:
            return
        one, other = self._losses
        if len(one) and len(other):
            firsts = one.steps[0], other.steps[0]
            if firsts in ((0, 1), (1, 0)) and (one.interval == other.interval or 0 in (one.interval, other.interval)):
                self.shift = firsts[0] - firsts[1]
                self.notes.append(Fact("shifted", {"first": firsts[0], "other": firsts[1]}))
            if one.interval != other.interval and one.interval and other.interval:
                self.notes.append(Fact("intervals", {"one": one.interval, "other": other.interval}))
                if self.baseline.averages and self.candidate.averages:
                    self.averaged = max(one.interval, other.interval)

    @cached_property
    def ranks(self) -> list[int]:
        return sorted(self.baseline.ranks.keys() & self.candidate.ranks.keys())

    @property
    def _losses(self) -> tuple[Series, Series]:
        """As they were logged, of the first rank that both have."""
        return self.baseline.ranks[self.ranks[0]].loss, self.candidate.ranks[self.ranks[0]].loss

    def series(self, kind: str, rank: int) -> tuple[Series, Series]:
        ones, others = self.baseline.ranks[rank].series, self.candidate.ranks[rank].series
        one, other = ones.get(kind) or Series(), (others.get(kind) or Series()).moved(self.shift)
        if self.averaged and kind in (LOSS, GRADIENT):
            one = one.averaged(self.averaged) if one.interval < self.averaged else one
            other = other.averaged(self.averaged) if other.interval < self.averaged else other
        return one, other

    def curve(self, kind: str, rank: int | None = None) -> Curve:
        one, other = self.series(kind, self.ranks[0] if rank is None else rank)
        curve = Curve(array("q"), array("d"), array("d"))
        for step, mine, theirs in pairs(one, other):
            curve.steps.append(step)
            curve.one.append(mine)
            curve.other.append(theirs)
        return curve

    @cached_property
    def loss(self) -> Curve:
        return self.curve(LOSS)

    @cached_property
    def floor(self) -> float:
        return FLOOR * max((abs(v) for v in self.loss.one if math.isfinite(v)), default=0.0)

    @cached_property
    def first(self) -> int | None:
        """The step both begin with, if that is the first of the training and every step is logged."""
        one, other = self._losses
        if not self.loss.steps or self.baseline.ordered or self.candidate.ordered or self.averaged:
            return None
        start = self.loss.steps[0]
        if start > 1 or one.steps[0] != start or other.steps[0] + self.shift != start:
            return None
        return start

    @cached_property
    def tolerance(self) -> Tolerance:
        noise = 0.0
        if self.rerun is not None and (again := Pair(self.baseline, self.rerun).loss).steps:
            noise = relative(again.one[0], again.other[0], self.floor)
        found = tolerance(self.baseline, self.candidate, noise if math.isfinite(noise) else 0.0)
        if not found.is_sure and found.loss < self.start <= UNKNOWN:
            return replace(found, loss=UNKNOWN)  # it may be the precision of both
        return found

    @cached_property
    def start(self) -> float:
        """How far the first losses are apart, relative."""
        curves = [self.curve(LOSS, rank) for rank in self.ranks]
        return max((relative(c.one[0], c.other[0], self.floor) for c in curves if c.steps), default=0.0)

    def apart(self, kind: str, rank: int, one: float, other: float) -> float:
        """Relative; what was rounded when it was printed may be off by one in its last digit."""
        mine, theirs = self.baseline.ranks[rank].series[kind], self.candidate.ranks[rank].series[kind]
        digit = max(mine.digit(one), theirs.digit(other)) if math.isfinite(one) and math.isfinite(other) else 0.0
        if (
            kind.startswith(UPDATE) or kind == RATE and mine.spelled == theirs.spelled
        ):  # computed and printed the same way
            digit = 0.0
        return relative(one, other, self.floor if kind == LOSS else 0.0, 1.001 * digit)


def resolution(pair: Pair) -> float:
    """What one more in the last printed digit of the first loss is worth, relative."""
    value = pair.loss.one[0] if pair.loss.steps else 0.0
    if not value or not math.isfinite(value):
        return 1.0
    return max(side.digit(value) for side in pair.series(LOSS, pair.ranks[0])) / abs(value)


def is_alike(pair: Pair) -> bool:
    """Whether the first losses are so near, to so many digits, that weights and data must be the same."""
    return bool(pair.loss.steps) and pair.start <= ALIKE and resolution(pair) <= 2 * ALIKE


def relative(one: float, other: float, floor: float = 0.0, digit: float = 0.0) -> float:
    if one == other or math.isnan(one) and math.isnan(other):
        return 0.0
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return max(0.0, abs(one - other) - digit) / max(abs(one), abs(other), floor, 1e-300)
