"""The end of the tree: runs whose first steps say nothing, or agree."""

from __future__ import annotations

import math

from porter.compare import long
from porter.compare.pair import Curve, Pair, relative, resolution
from porter.compare.series import Series
from porter.compare.tolerance import EARLY
from porter.compare.verdict import DIFFERENCE, NONE, UNSURE, Fact, Verdict, percent, shown
from porter.logs.records import RATE, SCALE

_COLLAPSED = 32  # times lower than the baseline's


def later(pair: Pair, unknown: tuple[str, ...]) -> Verdict:
    """`unknown`: what the logs do not show to be the same."""
    whole = pair.loss
    curve = long.finite(whole)
    if not whole.steps:
        return Verdict(UNSURE, "apart", evidence=[_spans(pair)])
    if verdict := _not_finite(pair, whole):
        return verdict
    if not curve.steps:
        return Verdict(UNSURE, "few", values={"n": 0})
    if verdict := _flat(pair, curve):
        return verdict
    band, ends = long.band(pair), long.ends(curve, pair.floor)
    facts = [Fact("ends", {
        "mean": percent(ends.mean), "end": percent(ends.end), "one": shown(ends.one), "other": shown(ends.other), "n": len(curve.steps),
    })]  # fmt: skip
    if band is not None:
        key = "band.exact" if band.is_exact else "band"
        facts.append(Fact(key, {"inside": percent(band.inside), "noise": percent(band.noise)}))
        if band.holds:
            return Verdict(NONE, "noise", evidence=facts)
    near = ends.mean < long.NEAR and abs(ends.end) < long.NEAR
    is_together = not unknown or _synchronous(curve)
    found = long.own_spikes(curve) if is_together else []
    if near and (band is None or band.is_exact) and not found:
        return Verdict(NONE, "near", evidence=facts)
    if len(curve.steps) < long.FEW:
        return Verdict(
            UNSURE, "few", suspects=("forward", "backward", "optimiser"), values={"n": len(curve.steps)}, evidence=facts
        )
    if not is_together and ends.smooth < long.NEAR and abs(ends.end) < long.NEAR:
        return Verdict(NONE, "smooth", evidence=facts)
    if not is_together:
        facts.append(Fact("not-together"))
        return Verdict(UNSURE, "other-batches", suspects=("data", "weights"), evidence=facts)
    if not found and long.is_grown(curve, pair.floor, resolution(pair)):
        return Verdict(UNSURE, "grown", suspects=("forward", "backward", "optimiser"), evidence=facts)
    verdict = _parted(pair, curve, facts, found, near)
    if verdict.stage == "long-run" and not found and not _begins_alike(pair, curve):
        suspects = (*unknown, "forward", "backward", "optimiser")
        return Verdict(UNSURE, "begins-late", "", verdict.pattern, suspects, {"step": curve.steps[0]}, verdict.evidence)
    return verdict


def _begins_alike(pair: Pair, curve: Curve) -> bool:
    """Whether the first steps are there, which were asked before; or the first ones that are there agree."""
    allowed = min(pair.tolerance.at(EARLY), long.NEAR)
    return pair.first is not None or relative(curve.one[0], curve.other[0], pair.floor) <= allowed


def _parted(pair: Pair, curve: Curve, facts: list[Fact], found: list[int], near: bool) -> Verdict:
    pattern = long.pattern(curve, pair.floor, found)
    if found:
        facts.append(Fact("spikes", {"n": len(found), "steps": ", ".join(map(str, found[:5]))}))
    facts += _collapsed(pair)
    if near and not found:  # outside of the baseline's own noise, and yet within a hundredth
        return Verdict(UNSURE, "small", "", pattern, ("forward", "optimiser"), evidence=facts)
    stage = "overflow" if _collapsed(pair) else "long-run"
    return Verdict(DIFFERENCE, f"long.{pattern}" if stage == "long-run" else stage, stage, pattern, evidence=facts)


def _not_finite(pair: Pair, whole: Curve) -> Verdict | None:
    firsts = [
        next((n for n, v in enumerate(values) if not math.isfinite(v)), None) for values in (whole.one, whole.other)
    ]
    mine, theirs = firsts
    if mine is None and theirs is None:
        return None
    if theirs is not None and (mine is None or theirs < mine):
        values: dict[str, object] = {
            "step": whole.steps[theirs],
            "value": shown(whole.other[theirs]),
            "one": shown(whole.one[theirs]),
        }
        facts = [Fact("bad", values), *_before(whole, theirs), *_collapsed(pair)]
        return Verdict(DIFFERENCE, "overflow", "overflow", "nan", values=values, evidence=facts)
    if mine is not None and (theirs is None or mine < theirs):
        return Verdict(UNSURE, "baseline-bad", values={"step": whole.steps[mine]})
    return Verdict(UNSURE, "both-bad", values={"step": whole.steps[mine or 0]})


def _before(whole: Curve, at: int) -> list[Fact]:
    """What the losses were before that step."""
    if at < 1:
        return []
    return [
        Fact(
            "bad.before",
            {"step": whole.steps[at - 1], "one": shown(whole.one[at - 1]), "other": shown(whole.other[at - 1])},
        )
    ]


def _collapsed(pair: Pair) -> list[Fact]:
    one, other = pair.series(SCALE, pair.ranks[0])
    if not len(one) or not len(other) or other.values[-1] <= 0 or one.values[-1] < _COLLAPSED * other.values[-1]:
        return []
    return [Fact("scale.falls", {"one": shown(one.values[-1]), "other": shown(other.values[-1])})]


def _flat(pair: Pair, curve: Curve) -> Verdict | None:
    if not long.is_flat(curve.other) or long.is_flat(curve.one):
        return None
    rates = pair.series(RATE, pair.ranks[0])[1]
    stopped = bool(len(rates)) and not any(rates.values)
    values: dict[str, object] = {"value": shown(curve.other[0]), "n": len(curve.steps)}
    suspects = ("schedule",) if stopped else ("backward", "optimiser")
    return Verdict(DIFFERENCE, "flat", "", "flat", suspects, evidence=[Fact("flat", values)])


def _synchronous(curve: Curve) -> bool:
    """The same batches show in every swing."""
    return long.together(curve) > long.SYNCHRONOUS


def _spans(pair: Pair) -> Fact:
    one, other = (run.first.loss for run in (pair.baseline, pair.candidate))
    return Fact("spans", {"one": _span(one), "other": _span(other)})


def _span(series: Series) -> str:
    return f"{series.steps[0]} - {series.steps[-1]}, {len(series)}" if len(series) else "0"
