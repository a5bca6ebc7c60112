"""Two profiles beside each other: what can be matched truly, and nothing else."""

from __future__ import annotations

from typing import NamedTuple

from porter.profiles.find import Run
from porter.profiles.kernels import AICPU
from porter.profiles.kinds import across
from porter.profiles.model import Kernel, Profile
from porter.profiles.sums import operators, shown_profile, step_time


class Pair(NamedTuple):
    """One thing on both sides: calls and microseconds of one step, or of the profile where a side has no steps."""

    name: str
    calls: tuple[float, float]
    times: tuple[float, float]

    @property
    def change(self) -> float:
        return self.times[1] - self.times[0]


class Linearity(NamedTuple):
    """A run on fewer cards against one on more, with the same work for each card."""

    cards: tuple[int, int]
    times: tuple[float, float]  # of the longest step
    efficiency: float


def kinds(before: Profile, after: Profile) -> list[Pair]:
    """By kind of work: coarser where devices of two makers are compared."""
    alike = before.device == after.device

    def kind(row: Kernel) -> str:
        return row.kind if alike else across(row.kind)

    return _pairs(
        before, after, [(kind(row), row) for row in operators(before)], [(kind(r), r) for r in operators(after)]
    )


def same_operators(before: Profile, after: Profile) -> list[Pair]:
    """By name: only where both sides ran on the same kind of device."""
    if before.device != after.device:
        return []
    return _pairs(
        before,
        after,
        [(_label(row), row) for row in operators(before)],
        [(_label(row), row) for row in operators(after)],
    )


def torch_operators(before: Profile, after: Profile) -> list[Pair]:
    """By operator of torch: the device time of the kernels that it launches itself, whatever the device."""
    sides = [
        [(name, Kernel(count=op.count, time=op.device)) for name, op in sorted(one.torch.items()) if op.device]
        for one in (before, after)
    ]
    return _pairs(before, after, *sides) if all(sides) else []


def per_step(before: Profile, after: Profile) -> bool:
    """Whether steps can be compared; else whole profiles are, which may be of different length."""
    return bool(before.steps and after.steps)


def linearity(before: Run, after: Run) -> Linearity | None:
    one, other = shown_profile(before), shown_profile(after)
    times = (step_time(one), step_time(other))
    cards = (cards_of(before), cards_of(after))
    if cards[0] == cards[1] or not per_step(one, other) or one.device != other.device or not times[0] or not times[1]:
        return None
    fewer, more = (0, 1) if cards[0] < cards[1] else (1, 0)
    return Linearity(cards, (times[0], times[1]), (times[fewer] or 0.0) / (times[more] or 1.0))


def cards_of(run: Run) -> int:
    """As its profiles say, else as many as there are profiles."""
    return max(len(run.profiles), *(profile.origin.world for profile in run.profiles))


def _label(row: Kernel) -> str:
    """Other cores are not known of every profile."""
    return f"{row.name} ({AICPU})" if row.core == AICPU else row.name


def _pairs(
    before: Profile, after: Profile, left: list[tuple[str, Kernel]], right: list[tuple[str, Kernel]]
) -> list[Pair]:
    divided = per_step(before, after)
    calls: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    for side, (profile, rows) in enumerate(((before, left), (after, right))):
        steps = profile.steps if divided else 1
        for name, row in rows:
            calls.setdefault(name, [0.0, 0.0])[side] += row.count / steps
            times.setdefault(name, [0.0, 0.0])[side] += row.time / steps
    pairs = [Pair(name, (calls[name][0], calls[name][1]), (t[0], t[1])) for name, t in times.items()]
    return sorted(pairs, key=lambda pair: (-abs(pair.change), pair.name))
