"""What the documented differences of a target do to a program's numbers: the port with each of them, beside the port without.

The run without is the port's own, in which what each would change was counted. So what no operator asks for costs no run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from porter.files.documents import Json
from porter.verify.compare import DRAWN
from porter.verify.differences import Difference, alone, together
from porter.verify.launch import Outcome
from porter.verify.records import Change, Point, Records

TOGETHER, AGAIN = "together", "again"
Launch = Callable[[str, str], Outcome]  # a name, what stands in VIRTUAL_NPU_DIFFERENCES


@dataclass(frozen=True, slots=True)
class Move:
    """How far one series of numbers went from what it was."""

    name: str
    points: int  # of both
    missing: int  # that only one of the runs has
    first: int | None  # index of the first that differs
    absolute: float
    relative: float


@dataclass(frozen=True, slots=True)
class Update:
    optimiser: str
    parameters: int
    absolute: float  # of the numbers that the first step added to the parameters
    relative: float  # length of the difference, as a part of the length


@dataclass(frozen=True, slots=True)
class Effect:
    name: str  # of a difference, or TOGETHER, or AGAIN: the same run once more
    state: str  # ran | unused: no operator asks for it | off: the program turns it off
    outcome: Outcome | None = None
    calls: int = 0  # of operators that it concerns
    changes: tuple[Change, ...] = ()
    moves: tuple[Move, ...] = ()
    updates: tuple[Update, ...] = ()
    of: tuple[str, ...] = ()  # names of the differences, where it is of several


@dataclass(frozen=True, slots=True)
class Sensitivity:
    chip: str
    differences: tuple[Difference, ...]
    effects: tuple[Effect, ...] = ()
    unreached: tuple[str, ...] = ()  # fused operators: computed by a reference that no difference changes


# changes of a type, of which no operator's result is computed twice
_UNMEASURED = ("no-bfloat16", "float32-casts")
# what of torch_npu's own multiplies, convolves, or is a GELU
_FUSED = ("attention", "matmul", "linear", "conv", "bmm", "gelu", "geglu", "deform", "mla")


def measure(
    chip: str, differences: Sequence[Difference], named: bool, port: Outcome, certain: bool, launch: Launch
) -> Sensitivity:
    """`named`: what was asked for by name is on in the run with all, too; `certain`: the program computes the same twice."""
    base = port.records
    calls = {d.name: _calls(base, d) for d in differences}
    effects = [] if certain else [_effect(AGAIN, launch(AGAIN, ""), base, 0)]
    used = []
    for difference in differences:
        name, asked = difference.name, calls[difference.name]
        if not asked:
            off = base.settings.get(name) is False and difference.by_default
            effects.append(Effect(name, "off" if off else "unused"))
            continue
        used.append(difference)
        effects.append(_effect(name, launch(name, alone(difference)), base, asked, name == "no-bfloat16"))
    whole = _whole(differences, used, base, named)
    if len(whole) > 1:
        outcome, names = launch(TOGETHER, together(whole, named)), [difference.name for difference in whole]
        asked = sum(calls[name] for name in names)
        effect = _effect(TOGETHER, outcome, base, asked, "no-bfloat16" in names)
        effects.append(replace(effect, of=tuple(names)))
    fused = {name for name in base.operator_names() if name.startswith("npu::") and any(w in name for w in _FUSED)}
    return Sensitivity(chip, tuple(differences), tuple(effects), tuple(sorted(fused)))


def _calls(base: Records, difference: Difference) -> int:
    if difference.name == "no-bfloat16":
        return sum(operator.calls for operator in base.operators if operator.dtype == "BFloat16")
    return sum(change.calls for change in base.changes if change.difference == difference.name)


def _whole(
    differences: Sequence[Difference], used: Sequence[Difference], base: Records, named: bool
) -> list[Difference]:
    """Those of the run with all: what the chip does by itself and the program lets it, or what was named."""
    names = {d.name for d in used if named or d.by_default or base.settings.get(d.name)}
    return [d for d in differences if not d.everywhere and (d.name in names or names.intersection(d.fed_by))]


def _effect(name: str, outcome: Outcome, base: Records, calls: int, no_bfloat16: bool = False) -> Effect:
    records = outcome.records
    moves = tuple(
        _move(title, base.series.get(title, []), records.series.get(title, []))
        for title in sorted({*base.series, *records.series})
        if not title.startswith(DRAWN)
    )
    updates = tuple(Update(u.optimiser, u.parameters, u.furthest, _part(u.distance, u.size)) for u in records.updates)
    changes = [change for change in records.changes if change.changed and change.difference != "no-bfloat16"]
    if no_bfloat16:
        changes += _bfloat16(base)
    return Effect(name, "ran", outcome, calls, tuple(changes), moves, updates)


def _bfloat16(base: Records) -> list[Change]:
    """All that ran in it is another operator without it."""
    ran = (operator for operator in base.operators if operator.dtype == "BFloat16")
    return [Change("no-bfloat16", o.name, o.where, o.calls, o.calls, 0.0) for o in ran]


def _move(name: str, before: list[Point], after: list[Point]) -> Move:
    first, absolute, relative = None, 0.0, 0.0
    for number, (one, other) in enumerate(zip(before, after)):
        if one.value == other.value or math.isnan(one.value) and math.isnan(other.value):
            continue
        first = number if first is None else first
        apart = abs(other.value - one.value)
        if not math.isfinite(apart):
            apart = math.inf
        absolute = max(absolute, apart)
        relative = max(relative, _part(apart, abs(one.value)))
    points = min(len(before), len(after))
    return Move(name, points, max(len(before), len(after)) - points, first, absolute, relative)


def _part(apart: float, whole: float) -> float:
    if not apart:
        return 0.0
    return apart / whole if whole and math.isfinite(apart) and math.isfinite(whole) else math.inf


def data(found: Sensitivity) -> Json:
    known = {difference.name: difference for difference in found.differences}
    return {
        "chip": found.chip,
        "unreached_operators": list(found.unreached),
        "effects": [_data(effect, known.get(effect.name)) for effect in found.effects],
    }


def _data(effect: Effect, difference: Difference | None) -> Json:
    ended, detail = effect.outcome.how_it_ended() if effect.outcome else ("not-run", "")
    errors = effect.outcome.records.errors if effect.outcome else []
    said: Json = {
        "name": effect.name,
        "state": effect.state,
        "of": list(effect.of),
        "ended": ended,
        "detail": detail,
        "errors": [{"type": error.kind, "text": error.text, "where": error.where} for error in errors],
        "calls": effect.calls,
        "calls_changed": sum(change.changed for change in effect.changes),
        "series": [
            {
                "name": m.name, "points": m.points, "missing": m.missing, "first": m.first,
                "largest_absolute_difference": m.absolute, "largest_relative_difference": m.relative,
            }
            for m in effect.moves
        ],
        "first_updates": [
            {
                "optimiser": u.optimiser, "parameters": u.parameters, "largest_absolute_difference": u.absolute,
                "relative_difference": u.relative,
            }
            for u in effect.updates
        ],
        "operators": [
            {
                "difference": c.difference, "name": c.operator, "where": c.where, "calls": c.calls,
                "changed": c.changed,
                "largest_relative_difference": None if c.difference in _UNMEASURED else c.furthest,
            }
            for c in sorted(effect.changes, key=lambda c: (-c.furthest, -c.changed, c.operator, c.where))
        ],
    }  # fmt: skip
    if difference is not None:
        said |= {
            "by_default": difference.by_default,
            "in_every_run": difference.everywhere,
            "setting": difference.setting,
            "grade": difference.grade,
            "source": difference.source,
        }
    return said
