"""The gradients of the first step: of which parameters the norms differ, or by which one factor all of them do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from porter.compare.pair import Pair, relative
from porter.compare.tolerance import EARLY, TURNED
from porter.compare.verdict import Fact, shown, some
from porter.logs.records import GRADIENT, SCALE

_FACTOR = 1e-3  # how far apart the factors of two parameters may be and still be one
_CEILING = 1e-4  # and norms that were clipped to the same length


@dataclass
class Local:
    """`differ`: parameters whose norms do, the furthest first; `turned`: those whose norms agree, and whose values do not.
    `factor`: the one by which all of them differ."""

    compared: int
    differ: list[tuple[float, str, float, float]]
    turned: list[str]
    factor: float | None
    last: str  # of those that differ, the one that the backward pass meets first

    def facts(self) -> list[Fact]:
        facts = []
        if self.differ:
            apart, name, one, other = self.differ[0]
            names = some([row[1] for row in self.differ])
            values = {"n": len(self.differ), "all": self.compared, "names": names, "name": name}
            facts = [Fact("norms.local", {**values, "one": shown(one), "other": shown(other), "apart": f"{apart:.2g}"})]
        if self.turned:
            values = {"n": len(self.turned), "all": self.compared, "names": some(self.turned)}
            facts.append(Fact("norms.turned", values))
        if self.last and len(self.differ) + len(self.turned) < self.compared:
            facts.append(Fact("norms.last", {"name": self.last}))
        return facts


def local(pair: Pair, rank: int, step: int) -> Local | None:
    """None where one of the runs kept no norms of this step."""
    sides = [(pair.baseline.ranks[rank], step), (pair.candidate.ranks[rank], step - pair.shift)]
    one, other = (side.norms.get(at) for side, at in sides)
    if not one or not other:
        return None
    names = [name for name in one if name in other and math.isfinite(one[name])]
    whole = math.sqrt(sum(one[name] ** 2 for name in names))
    tolerance = pair.tolerance.norm
    # where a gradient is nothing but rounding, its norm is too
    floor = tolerance * 1e-2 * whole
    rows = [(relative(one[name], other[name]), name, one[name], other[name]) for name in names]
    differ = [row for row in rows if row[0] > tolerance and not abs(row[2] - row[3]) <= floor]
    apart = {row[1] for row in differ}
    marks = [side.marks.get(at, {}) for side, at in sides]
    turned = [
        n for n in names if n not in apart and _is_turned(marks[0].get(n), marks[1].get(n), one[n], floor, tolerance)
    ]
    last = next((name for name in reversed(names) if name in apart or name in turned), "")
    differ.sort(key=lambda row: (-row[0], row[1]))
    return Local(len(names), differ, turned, _factor(rows, floor, tolerance), last)


def _is_turned(one: float | None, other: float | None, norm: float, floor: float, tolerance: float) -> bool:
    """Whether gradients of one norm are others."""
    if one is None or other is None or not (math.isfinite(one) and math.isfinite(other)):
        return False
    return abs(one - other) > max(min(TURNED * tolerance, 0.25) * norm, floor)


def _factor(rows: list[tuple[float, str, float, float]], floor: float, tolerance: float) -> float | None:
    factors = [other / one for _, _, one, other in rows if one > 10 * floor and one > 0 and math.isfinite(other)]
    if len(factors) < 2 or min(factors) <= 0 or max(factors) / min(factors) - 1 > max(_FACTOR, 2 * tolerance):
        return None
    factor = sorted(factors)[len(factors) // 2]
    return factor if abs(factor - 1) > tolerance else None


def reason(pair: Pair, rank: int, factor: float) -> Fact | None:
    """Why gradients may be longer by one factor, where the logs show that."""
    scales = [side.values[0] for side in pair.series(SCALE, rank) if len(side)]
    alone = scales[0] if len(scales) == 1 else 0.0
    for ratio in [scales[1] / scales[0] if len(scales) == 2 and scales[0] else 0.0, alone]:
        if ratio not in (0.0, 1.0) and min(relative(factor, ratio), relative(1 / factor, ratio)) < _FACTOR:
            return Fact("factor.scale", {"factor": shown(factor)})
    if fact := clipped(pair, rank):
        return fact
    ranks = len(pair.candidate.ranks)
    if ranks > 1 and min(relative(factor, ranks), relative(1 / factor, ranks)) < _FACTOR:
        return Fact("factor.ranks", {"ranks": ranks})
    whole = max(factor, 1 / factor)
    if whole > 1.5 and abs(whole - round(whole)) < _FACTOR * whole:
        return Fact("factor.whole", {"n": round(whole)})
    return None


def clipped(pair: Pair, rank: int) -> Fact | None:
    """One run whose norms never pass a length that they reach again and again, and another whose norms do."""
    one, other = pair.series(GRADIENT, rank)
    ceilings = [_ceiling([v for v in side.values if math.isfinite(v)]) for side in (one, other)]
    for mine, theirs, key in ((ceilings[0], other, "factor.unclipped"), (ceilings[1], one, "factor.clipped")):
        highest = max((v for v in theirs.values if math.isfinite(v)), default=0.0)
        if mine and highest > mine * (1 + pair.tolerance.norm_at(EARLY)):
            return Fact(key, {"limit": shown(mine), "highest": shown(highest)})
    return None


def _ceiling(values: list[float]) -> float:
    top = sorted(values)[-3:]
    flat = len(top) > 2 and min(values) < 0.99 * top[-1] and all(relative(a, b) < _CEILING for a, b in pairwise(top))
    return top[-1] if flat and top[-1] > 0 else 0.0
