"""What is set before a run: the optimiser, dropout, switches. Of each difference, what it changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.compare.pair import Pair, relative
from porter.compare.verdict import Fact, some
from porter.files.documents import Json

_RATE = ("lr", "initial_lr", "max_lr", "min_lr")
_COUNTED = frozenset(
    "betas eps weight_decay momentum dampening nesterov amsgrad maximize alpha centered rho momentum_decay lambd"
    " etas step_sizes lr_decay initial_accumulator_value parameters trust_coefficient decoupled_weight_decay".split()
)
_PORTED = ("npufused", "npu", "fused", "apex", "distributed")


@dataclass
class Settings:
    """`rates`: learning rates of groups; `optimiser`: the rest of them; `randomness`: dropout and the training flag."""

    optimiser: list[Fact] = field(default_factory=list)
    rates: list[Fact] = field(default_factory=list)
    randomness: list[Fact] = field(default_factory=list)
    precision: list[Fact] = field(default_factory=list)
    notes: list[Fact] = field(default_factory=list)
    dropout: int = 0  # modules that drop at random in both runs


def settings(pair: Pair) -> Settings:
    found = Settings()
    one, other = (run.ranks[pair.ranks[0]] for run in (pair.baseline, pair.candidate))
    _optimisers(one.optimisers, other.optimisers, found)
    if one.modules is not None and other.modules is not None:
        _modules(one.modules, other.modules, found)
    for table in ("determinism", "environment", "versions"):
        mine, theirs = one.header.get(table), other.header.get(table)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            names = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
            rows = some([f"{name} {_value(mine.get(name))} / {_value(theirs.get(name))}" for name in names])
            if names:
                found.notes.append(Fact(f"header.{table}", {"rows": rows}))
    for key in ("seed", "torch", "arguments"):
        if one.header.get(key) != other.header.get(key):
            values = {"one": _value(one.header.get(key)), "other": _value(other.header.get(key))}
            found.notes.append(Fact(f"header.{key}", values))
    return found


def _optimisers(ones: list[Json], others: list[Json], found: Settings) -> None:
    if not ones or not others:
        return
    for mine, theirs in zip(ones, others):
        names = [_kind(about.get("name")) for about in (mine, theirs)]
        if names[0] != names[1]:
            found.optimiser.append(Fact("optimiser.name", {"one": mine.get("name"), "other": theirs.get("name")}))
        groups, more = mine["groups"], theirs["groups"]
        if len(groups) != len(more):
            found.optimiser.append(Fact("optimiser.groups", {"one": len(groups), "other": len(more)}))
        for number, (group, partner) in enumerate(zip(groups, more)):
            for key in sorted(group.keys() & partner.keys()):
                if _same(group[key], partner[key]):
                    continue
                values: dict[str, object] = {
                    "name": key,
                    "group": number,
                    "one": _value(group[key]),
                    "other": _value(partner[key]),
                }
                if key in _RATE:
                    found.rates.append(Fact("optimiser.rate", values))
                elif key in _COUNTED:
                    found.optimiser.append(Fact("optimiser.setting", values))
                else:  # how it is computed: fused, foreach
                    found.notes.append(Fact("optimiser.rate", values))


def _kind(name: object) -> str:
    """NpuFusedAdamW is AdamW."""
    plain = str(name or "").lower()
    for prefix in _PORTED:
        plain = plain.removeprefix(prefix)
    return plain


def _same(one: object, other: object) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return relative(float(one), float(other)) < 1e-9
    return one == other


def _modules(one: Json, other: Json, found: Settings) -> None:
    modes = [about.get("training") for about in (one, other)]
    if modes[0] != modes[1] and all(isinstance(mode, bool) for mode in modes):
        found.randomness.append(Fact("modules.training", {"one": modes[0], "other": modes[1]}))
    mine, theirs = one["dropout"], other["dropout"]
    names = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name, 0.0) != theirs.get(name, 0.0))
    if names:
        rows = some([f"{name} {mine.get(name, 0.0):g} / {theirs.get(name, 0.0):g}" for name in names])
        found.randomness.append(Fact("modules.dropout", {"n": len(names), "rows": rows}))
    found.dropout = sum(bool(p and theirs.get(name)) for name, p in mine.items()) if one.get("training", True) else 0
    if one.get("autocast") != other.get("autocast") and "autocast" in one and "autocast" in other:
        values = {"one": _value(one["autocast"]), "other": _value(other["autocast"])}
        found.precision.append(Fact("modules.autocast", values))


def _value(value: object) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)[:80]
