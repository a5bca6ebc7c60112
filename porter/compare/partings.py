"""Where the numbers of two runs part first, one kind after the other: losses, norms of gradients, learning rates."""

from __future__ import annotations

import math
from dataclasses import dataclass

from porter.compare.pair import Pair, relative
from porter.compare.run import OPTIMISERS, UPDATE
from porter.compare.tolerance import EARLY, SCHEDULE
from porter.logs.records import GRADIENT, LOSS, RATE, SCALE

_SCALED = 1e-3  # how near to a loss scale a factor is that one


@dataclass(frozen=True)
class Parting:
    """`ranks`: those that part at this step."""

    step: int
    one: float
    other: float
    apart: float
    allowed: float
    ranks: tuple[int, ...]


def first_loss(pair: Pair) -> Parting | None:
    return _first(pair, LOSS)


def first_norm(pair: Pair) -> Parting | None:
    return _first(pair, GRADIENT)


@dataclass(frozen=True)
class Update:
    """Gradients of one norm, of which something else reaches the optimiser."""

    parting: Parting
    before: float  # that norm


def first_update(pair: Pair) -> Update | None:
    found = [update for number in range(OPTIMISERS) if (update := _of_optimiser(pair, number))]
    return min(found, key=lambda update: update.parting.step, default=None)


def _of_optimiser(pair: Pair, number: int) -> Update | None:
    parting = _first(pair, f"{UPDATE}{number}")
    if parting is None:
        return None
    rank = parting.ranks[0]
    sides = pair.baseline.ranks[rank], pair.candidate.ranks[rank]
    norms, scales = ([side.at(parting.step) for side in pair.series(kind, rank)] for kind in (GRADIENT, SCALE))
    if sides[0].moved[number] != sides[1].moved[number] or norms[0] is None or norms[1] is None:
        return None  # the state of one optimiser is cut otherwise
    one, other = parting.one, parting.other
    if any(scale and min(relative(one, other * scale), relative(one * scale, other)) < _SCALED for scale in scales):
        return None  # one of them unscales as it moves the weights
    return Update(parting, norms[0])


def _first(pair: Pair, kind: str) -> Parting | None:
    """Within the first steps: later, rounding has grown to any size."""
    found: list[Parting] = []
    for rank in pair.ranks:
        curve = pair.curve(kind, rank)
        start = curve.steps[0] if curve.steps else 0
        for step, one, other in zip(curve.steps[: EARLY + 1], curve.one, curve.other):
            if step - start > EARLY:
                break
            if kind != LOSS and not (math.isfinite(one) and math.isfinite(other)):
                continue  # a scaler looks for its scale: such a step is skipped
            allowed = (pair.tolerance.at if kind == LOSS else pair.tolerance.norm_at)(step - start)
            if (apart := pair.apart(kind, rank, one, other)) > allowed:
                found.append(Parting(step, one, other, apart, allowed, (rank,)))
                break
    if not found:
        return None
    first = min(found, key=lambda parting: parting.step)
    return Parting(
        first.step, first.one, first.other, first.apart, first.allowed,
        tuple(parting.ranks[0] for parting in found if parting.step == first.step),
    )  # fmt: skip


@dataclass(frozen=True)
class Rates:
    parting: Parting | None
    count: int  # steps at which the learning rates differ
    lag: int  # by how many steps the candidate's are late; 0: they are no others
    is_zero: bool  # of both, at every step


def rates(pair: Pair) -> Rates:
    rank = pair.ranks[0]
    curve = pair.curve(RATE)
    if not curve.steps:
        return Rates(None, 0, 0, False)
    first, count = None, 0
    for step, one, other in zip(curve.steps, curve.one, curve.other):
        if one != other and (apart := pair.apart(RATE, rank, one, other)) > SCHEDULE:
            count += 1
            first = first or Parting(step, one, other, apart, SCHEDULE, (rank,))
    zero = not any(curve.one) and not any(curve.other)
    return Rates(first, count, _lag(pair, rank) if first else 0, zero)


def _lag(pair: Pair, rank: int) -> int:
    one, other = pair.series(RATE, rank)
    for lag in (1, -1):
        moved = [(v, other.at(s + lag)) for s, v in zip(one.steps[:200], one.values)]
        known = [(a, b) for a, b in moved if b is not None]
        if len(known) > 2 and len({a for a, _ in known}) > 2 and all(relative(a, b) <= SCHEDULE for a, b in known):
            return lag
    return 0
