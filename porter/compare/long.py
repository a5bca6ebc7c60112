"""Long runs: rounding grows, so that only the band of the baseline's own noise tells a fault from chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from porter.compare.pair import Curve, Pair, relative

NEAR = 0.01  # mean relative error, and distance at the end, below which runs count as equal
WINDOWS = 50
END = 0.1  # of a run is its end
BAND = 2.0  # times the noise of the baseline's rerun
INSIDE = 0.9  # of the windows
FEW = 20  # steps that make a long run
FLAT = 1e-6
SYNCHRONOUS = 0.5  # correlation of what is left of two curves without their trend: they read the same batches
ROUNDED = 1e-6  # some units of rounding of float32
PASSING, STEADY = (
    4,
    0.25,
)  # steps from there to a hundredth, and the share of them to the middle: half of one factor a step
_EASE, _WARM, _SPIKE, _JUMP = 0.05, 20, 8.0, 0.1


@dataclass
class Windows:
    """Means over pieces of a run."""

    steps: list[int]  # the last one of each
    one: list[float]
    other: list[float]
    apart: list[float]  # root of the mean square of the distances

    @classmethod
    def of(cls, curve: Curve) -> Windows:
        size = max(1, -(-len(curve.steps) // WINDOWS))
        made = cls([], [], [], [])
        for start in range(0, len(curve.steps), size):
            one, other = curve.one[start : start + size], curve.other[start : start + size]
            made.steps.append(curve.steps[min(start + size, len(curve.steps)) - 1])
            made.one.append(fmean(one))
            made.other.append(fmean(other))
            made.apart.append(math.sqrt(fmean((a - b) ** 2 for a, b in zip(one, other))))
        return made


def finite(curve: Curve) -> Curve:
    """Without the steps at which either run has a value that is none."""
    kept = Curve(curve.steps[:0], curve.one[:0], curve.other[:0])
    for step, one, other in zip(curve.steps, curve.one, curve.other):
        if math.isfinite(one) and math.isfinite(other):
            kept.steps.append(step)
            kept.one.append(one)
            kept.other.append(other)
    return kept


@dataclass(frozen=True)
class Ends:
    """How far two curves are apart: on the way, and at the end (signed: the candidate is above)."""

    mean: float
    smooth: float  # of the means of the windows
    end: float
    one: float
    other: float


def ends(curve: Curve, floor: float) -> Ends:
    count = max(1, min(len(curve.steps), max(5, int(END * len(curve.steps)))))
    one, other = fmean(curve.one[-count:]), fmean(curve.other[-count:])
    mean = fmean(relative(a, b, floor) for a, b in zip(curve.one, curve.other))
    windows = Windows.of(curve)
    smooth = fmean(relative(a, b, floor) for a, b in zip(windows.one, windows.other))
    return Ends(mean, smooth, (other - one) / max(abs(one), floor, 1e-300), one, other)


def is_flat(values: Sequence[float]) -> bool:
    return len(values) >= 5 and max(values) - min(values) <= FLAT * max(abs(max(values)), abs(min(values)))


def spikes(steps: Sequence[int], values: Sequence[float]) -> list[int]:
    """Steps at which a value jumps far above what it swings by."""
    found: list[int] = []
    level = swing = 0.0
    for number, (step, value) in enumerate(zip(steps, values)):
        off = value - level
        if number >= _WARM and off > _SPIKE * swing + _JUMP * abs(level):
            found.append(step)
            continue
        ease = max(_EASE, 1 / (number + 1))
        level += ease * off
        swing += ease * (abs(off) - swing) if number else 0.0
    return found


def own_spikes(curve: Curve) -> list[int]:
    """Those of the candidate, where the baseline has none: one that jumps by itself, does so at other steps each time."""
    return [] if spikes(curve.steps, curve.one) else spikes(curve.steps, curve.other)


def together(curve: Curve) -> float:
    """Correlation of the steps of both curves: of one batch to the next, and not of the trend."""
    one, other = (_without_trend(values) for values in (curve.one, curve.other))
    power = math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other)) / power if power > 0 and len(one) >= 8 else 0.0


def _without_trend(values: Sequence[float]) -> list[float]:
    """Second differences: what is left by a curve that falls, however it does."""
    steps = [b - a for a, b in pairwise(values)]
    return [b - a for a, b in pairwise(steps)]


@dataclass(frozen=True)
class Band:
    inside: float  # the share of the windows
    noise: float  # of the baseline, in the end
    end: float  # the candidate's distance in the end
    is_exact: bool  # the baseline repeats itself bit for bit

    @property
    def holds(self) -> bool:
        return not self.is_exact and self.inside >= INSIDE and abs(self.end) <= BAND * self.noise


def band(pair: Pair) -> Band | None:
    """Where the candidate lies in the noise of the baseline against its own rerun."""
    if pair.rerun is None:
        return None
    again, curve = finite(Pair(pair.baseline, pair.rerun).loss), finite(pair.loss)
    if len(again.steps) < 2 or len(curve.steps) < 2:
        return None
    noise, seen = Windows.of(again), Windows.of(curve)
    limits = _limits(noise, seen)
    inside = sum(a <= limit for a, limit in zip(seen.apart, limits)) / len(limits)
    floor = pair.floor
    own, end = ends(again, floor), ends(curve, floor)
    spread = max(noise.apart[-max(1, len(noise.apart) // 10) :]) / max(abs(own.one), floor, 1e-300)
    return Band(inside, max(abs(own.end), spread), end.end, not any(noise.apart))


def allowed(pair: Pair) -> list[tuple[int, float, float]]:
    """(step, mean of the baseline, how far a candidate may be from it), where the baseline has noise of its own."""
    again, curve = (finite(Pair(pair.baseline, other).loss) for other in (pair.rerun or pair.baseline, pair.candidate))
    noise, seen = Windows.of(again), Windows.of(curve)
    return [*zip(seen.steps, seen.one, _limits(noise, seen))] if any(noise.apart) else []


def _limits(noise: Windows, seen: Windows) -> list[float]:
    usual = sorted(noise.apart)[len(noise.apart) // 2]
    return [BAND * max(_near(noise, step), usual) for step in seen.steps]


def _near(windows: Windows, step: int) -> float:
    """The noise at a step, of the windows around it: two runs do not swing at the same time."""
    at = next((n for n, last in enumerate(windows.steps) if last >= step), len(windows.steps) - 1)
    return max(windows.apart[max(0, at - 2) : at + 3])


def is_grown(curve: Curve, floor: float, digit: float) -> bool:
    """Whether the distance grew to a hundredth from rounding, by one factor with each step, as it does in a training that is
    not stable. What a fault adds at each step grows as a sum does: fast at first, and then ever slower; an event is a jump."""
    gaps = [relative(a, b, floor) for a, b in zip(curve.one, curve.other)]
    smooth = [median(gaps[max(0, n - 1) : n + 2]) for n in range(len(gaps))]
    arrival = next((n for n, gap in enumerate(smooth) if gap >= NEAR), 0)
    least = max(ROUNDED, 2 * digit)
    start = max((n for n in range(arrival) if smooth[n] <= least), default=arrival)
    if arrival - start < PASSING or least >= NEAR / 10:
        return False
    middle = next(n for n in range(start, arrival + 1) if smooth[n] >= math.sqrt(least * NEAR))
    return STEADY * (arrival - start) < middle - start < arrival - start


def pattern(curve: Curve, floor: float, found: list[int]) -> str:
    """How two curves part: spikes, a gap late, a drift that grows, or apart from the start. Each word has its sentence as
    `why.long.<word>` in rules/words/compare.toml, and stands in `pattern` of compare/schema.json."""
    windows = Windows.of(curve)
    gaps = [(b - a) / max(abs(a), floor, 1e-300) for a, b in zip(windows.one, windows.other)]
    half = len(gaps) // 2
    if found and max(map(abs, gaps[-max(1, len(gaps) // 10) :])) < NEAR:
        return "spikes"
    if len(gaps) >= 4 and max(map(abs, gaps[:half])) < NEAR:
        return "late-gap"
    if found:
        return "spikes"
    parts = [fmean(gaps[n * len(gaps) // 4 : (n + 1) * len(gaps) // 4]) for n in range(4)] if len(gaps) >= 4 else []
    if parts and all(abs(b) > abs(a) for a, b in pairwise(parts)) and len({p > 0 for p in parts[1:]}) == 1:
        return "drift"
    return "apart"
