"""The decision tree: data and weights before anything else, then stage by stage in the order of a step, then long runs.

The first stage whose numbers part is at fault, and only where everything before it is known to be the same. What an earlier
log does not show is said, never guessed.
"""

from __future__ import annotations

import math

from porter.compare import long, norms
from porter.compare.evidence import Evidence, ranks_of
from porter.compare.later import later
from porter.compare.pair import Pair, is_alike, relative, resolution
from porter.compare.partings import Parting
from porter.compare.seeds import seed_of
from porter.compare.tolerance import tolerance
from porter.compare.verdict import DIFFERENCE, UNSURE, Fact, Verdict, shown, some
from porter.logs.records import SCALE


def judge(pair: Pair) -> Verdict:
    evidence = Evidence(pair)
    questions = (
        _mixed,
        _seed,
        _weights,
        _data,
        _randomness,
        _forward,
        _backward,
        _rates,
        _optimiser,
        _update,
        _early,
        _clipped,
    )
    verdict = next((found for ask in questions if (found := ask(evidence))), None) or later(pair, evidence.unknown())
    verdict.evidence += [fact for fact in _notes(evidence) if fact not in verdict.evidence]
    return verdict


def _seed(e: Evidence) -> Verdict | None:
    """Another seed is no fault: such runs cannot be compared step by step."""
    seeds = [seed_of(run.first.header) for run in (e.pair.baseline, e.pair.candidate)]
    is_other = None not in seeds and seeds[0] != seeds[1]
    reseeded = e.weights.is_all and not (e.weights.missing or e.weights.added or e.weights.shapes)
    begins = e.data.step is not None and e.pair.loss.steps and e.data.step <= e.pair.loss.steps[0]
    everywhere = len(e.data.ranks) == len(e.pair.ranks) and not e.data.shapes
    untold = None in seeds and reseeded and begins and everywhere
    if is_other and (reseeded or begins and everywhere and not e.weights.differ) or untold:
        facts = (e.weights.facts() if reseeded else []) + (e.data.facts(len(e.pair.ranks)) if begins else [])
        return Verdict(UNSURE, "seed", suspects=("weights", "data"), evidence=facts)
    return None


def _weights(e: Evidence) -> Verdict | None:
    return Verdict(DIFFERENCE, "weights", "weights", evidence=e.weights.facts()) if e.weights.differ else None


def _data(e: Evidence) -> Verdict | None:
    """Where the losses part before the batches do, something else is at fault first."""
    if e.data.step is None or e.data.step > e.earliest:
        return None
    facts = e.data.facts(len(e.pair.ranks))
    if e.loss:
        facts.append(_loss_fact(e.loss))
    return Verdict(DIFFERENCE, "data", "data", values={"step": e.data.step}, evidence=facts)


def _mixed(e: Evidence) -> Verdict | None:
    if any(run.mixed for run in (e.pair.baseline, e.pair.candidate)):
        return Verdict(UNSURE, "mixed")
    return None


def _randomness(e: Evidence) -> Verdict | None:
    if e.settings.randomness:  # whatever the numbers say: of a small net, they may hardly part
        facts = [*e.settings.randomness, *([_loss_fact(e.loss)] if e.loss else [])]
        return Verdict(DIFFERENCE, "randomness", "randomness", evidence=facts)
    if not e.loss and not e.norm:
        return None
    one, other = (run.first.header.get("seed") for run in (e.pair.baseline, e.pair.candidate))
    masks_agree = e.pair.tolerance.is_same_device and one == other and one is not None
    if e.settings.dropout and not masks_agree:
        facts = [_loss_fact(e.loss)] if e.loss else []
        values: dict[str, object] = {"n": e.settings.dropout}
        return Verdict(UNSURE, "dropout", suspects=("randomness",), values=values, evidence=facts)
    return None


def _forward(e: Evidence) -> Verdict | None:
    if precision := [*e.settings.precision, *_dtypes(e)]:
        facts = [*precision, *([_loss_fact(e.loss)] if e.loss else [])]
        return Verdict(DIFFERENCE, "precision", "forward", evidence=facts)
    if e.loss is None or not e.is_first:
        return None
    facts = [_loss_fact(e.loss)]
    if e.same_ranks and (verdict := _longer(e, e.loss, facts)):
        return verdict
    if not e.same_ranks:
        return Verdict(UNSURE, "ranks", suspects=("data", "forward"), evidence=facts)
    if unknown := e.unknown():
        strange = Verdict(UNSURE, "start", suspects=(*unknown, "forward"), evidence=facts)
        return strange if math.isfinite(e.loss.other) else None
    if len(e.loss.ranks) < len(e.pair.ranks):
        facts.append(Fact("loss.ranks", {"ranks": some([str(r) for r in e.loss.ranks], 8)}))
    return Verdict(DIFFERENCE, "forward", "forward", evidence=facts)


def _longer(e: Evidence, loss: Parting, facts: list[Fact]) -> Verdict | None:
    """The loss and all gradients by one factor: `(loss * scale).backward()`, a sum for a mean."""
    rank = loss.ranks[0]
    factor = loss.other / loss.one if loss.one and math.isfinite(loss.other) else 0.0
    local = norms.local(e.pair, rank, loss.step)
    whole = local.factor if local else None
    if not whole or factor <= 0 or relative(factor, whole) > max(e.pair.tolerance.norm, 1e-3):
        return None
    why = norms.reason(e.pair, rank, whole)
    told = [Fact("factor.loss", {"factor": shown(whole)}), *([why] if why else []), *facts]
    return Verdict(DIFFERENCE, "loss-scaled", "scaling", evidence=told)


def _dtypes(e: Evidence) -> list[Fact]:
    if not e.weights.dtypes:
        return []
    one, other = e.weights.dtype_names
    return [
        Fact(
            "weights.dtypes", {"n": len(e.weights.dtypes), "names": some(e.weights.dtypes), "one": one, "other": other}
        )
    ]


def _backward(e: Evidence) -> Verdict | None:
    """Of the first step alone: later, an update may have been another one already."""
    first = e.pair.first
    if first is None or e.is_first:
        return None
    if e.norm is not None and e.norm.step == first and (verdict := _strangers(e, [_norm_fact(e.norm)])):
        return verdict
    for rank in e.pair.ranks:
        local = norms.local(e.pair, rank, first)
        factor = local.factor if local else None
        if local and factor:
            return _scaled(e, rank, factor, local)
        if local and (local.differ or local.turned):
            facts = [*local.facts(), _agrees(e, first)]
            if not local.turned and _is_rounded(e.pair, local.differ[0][0]):
                return Verdict(UNSURE, "rounded", suspects=("forward", "backward"), evidence=facts)
            return Verdict(DIFFERENCE, "backward", "backward", evidence=facts)
    if e.norm is not None and e.norm.step == first:
        rank = e.norm.ranks[0]
        if norms.local(e.pair, rank, first) is None:
            why = norms.reason(e.pair, rank, e.norm.other / e.norm.one) if e.norm.one > 0 and e.norm.other > 0 else None
            facts = [_norm_fact(e.norm), _agrees(e, first)]
            if why:
                return Verdict(DIFFERENCE, "scaling", "scaling", evidence=[why, *facts])
            return Verdict(DIFFERENCE, "backward", "backward", evidence=[*facts, Fact("norms.asked")])
        factor = e.norm.other / e.norm.one if e.norm.one else math.inf
        return _scaled(e, rank, factor, None)
    return None


def _is_rounded(pair: Pair, apart: float) -> bool:
    """Whether a lower precision that no log names could put gradients so far apart: it moves the loss a little, too."""
    tolerance = pair.tolerance
    return not tolerance.is_sure and pair.start > tolerance.loss / 10 and apart < 10 * tolerance.norm


def _strangers(e: Evidence, facts: list[Fact]) -> Verdict | None:
    """Of logs that show neither weights nor data, only first losses that are alike say that both are the same."""
    if not (unknown := e.unknown()) or is_alike(e.pair):
        return None
    return Verdict(UNSURE, "start", suspects=(*unknown, "forward"), evidence=facts)


def _scaled(e: Evidence, rank: int, factor: float, local: norms.Local | None) -> Verdict:
    why = norms.reason(e.pair, rank, factor)
    facts = [Fact("factor" if local else "factor.whole-norm", {"factor": shown(factor)}), *([why] if why else [])]
    return Verdict(DIFFERENCE, "scaling", "scaling", evidence=facts)


def _rates(e: Evidence) -> Verdict | None:
    parting = e.rates.parting
    facts = [*e.settings.rates]
    if parting is not None and parting.step <= e.earliest:
        values = {"step": parting.step, "one": shown(parting.one), "other": shown(parting.other), "n": e.rates.count}
        facts.append(Fact("rate", values))
        if e.rates.lag:
            facts.append(Fact("rate.lag" if e.rates.lag > 0 else "rate.lead"))
    elif parting is not None or not facts:
        return None
    return Verdict(DIFFERENCE, "schedule", "schedule", evidence=facts)


def _optimiser(e: Evidence) -> Verdict | None:
    if not e.settings.optimiser:
        return None
    facts = [*e.settings.optimiser, *([_loss_fact(e.loss)] if e.loss else [])]
    return Verdict(DIFFERENCE, "optimiser" if e.loss else "settings", "optimiser", evidence=facts)


def _update(e: Evidence) -> Verdict | None:
    """Gradients are equal when they are recorded, and no longer when they reach the optimiser."""
    if e.update is None or e.update.parting.step >= e.earliest or e.unknown() and not is_alike(e.pair):
        return None
    fact = _fact("update", e.update.parting)
    facts = [Fact(fact.key, {**fact.values, "before": shown(e.update.before)})]
    return Verdict(DIFFERENCE, "update", "optimiser", evidence=facts + ([_loss_fact(e.loss)] if e.loss else []))


def _early(e: Evidence) -> Verdict | None:
    """What parts in the first steps, with nothing before it that explains it."""
    first = e.pair.first
    if e.loss is None and e.norm is None:
        return None
    facts = [_loss_fact(e.loss)] if e.loss else []
    facts += [_norm_fact(e.norm)] if e.norm else []
    # a log that begins later, or with means of many steps: what parts there may be of any stage
    if first is None or e.loss and not math.isfinite(e.loss.other):
        return None
    if verdict := _strangers(e, facts):
        return verdict
    if e.rates.is_zero:
        stage = "forward" if e.loss and e.loss.step == e.earliest else "backward"
        if e.unknown():
            return Verdict(UNSURE, "still", suspects=(*e.unknown(), stage), evidence=facts)
        return Verdict(DIFFERENCE, "still", stage, evidence=facts)
    if not e.rates.is_zero and long.is_grown(long.finite(e.pair.loss), e.pair.floor, resolution(e.pair)):
        return None
    if e.data.known and e.data.until < e.earliest:
        return Verdict(
            UNSURE, "unhashed", suspects=("data", "optimiser"), values={"step": e.data.until}, evidence=facts
        )
    clip = norms.clipped(e.pair, e.pair.ranks[0])
    if clip and e.norm and e.norm.step <= e.earliest:
        return Verdict(DIFFERENCE, "scaling", "scaling", evidence=[clip, *facts])
    if e.knows_norms and e.loss and e.loss.step <= e.earliest:
        return Verdict(DIFFERENCE, "optimiser", "optimiser", evidence=[*facts, Fact("norms.agree", {"step": first})])
    return Verdict(UNSURE, "between", suspects=("backward", "optimiser"), evidence=facts)


def _clipped(e: Evidence) -> Verdict | None:
    fact = None if e.unknown() and not is_alike(e.pair) else norms.clipped(e.pair, e.pair.ranks[0])
    return Verdict(DIFFERENCE, "scaling", "scaling", evidence=[fact]) if fact else None


def _agrees(e: Evidence, step: int) -> Fact:
    curve = e.pair.loss
    one, other = (shown(values[curve.steps.index(step)]) for values in (curve.one, curve.other))
    return Fact("loss.agrees", {"step": step, "one": one, "other": other})


def _loss_fact(parting: Parting) -> Fact:
    return _fact("loss", parting)


def _norm_fact(parting: Parting) -> Fact:
    return _fact("norm", parting)


def _fact(key: str, parting: Parting) -> Fact:
    values = {"step": parting.step, "one": shown(parting.one), "other": shown(parting.other)}
    return Fact(key, {**values, "apart": f"{parting.apart:.2g}", "allowed": f"{parting.allowed:.2g}"})


def _notes(e: Evidence) -> list[Fact]:
    """Whatever else differs, or is not known: told, with what it changes."""
    found = e.settings
    facts = [*found.optimiser, *found.rates, *found.randomness, *found.precision, *_dtypes(e), *found.notes]
    if not e.same_ranks:
        facts.append(Fact("ranks", {"one": ranks_of(e.pair.baseline.first, len(e.pair.baseline.ranks)),
                                    "other": ranks_of(e.pair.candidate.first, len(e.pair.candidate.ranks))}))  # fmt: skip
    if e.data.rounded is not None:
        facts.append(Fact("data.rounded", {"step": e.data.rounded}))
    if e.data.step is not None:
        facts += e.data.facts(len(e.pair.ranks))
    scales = [side.values[0] for side in e.pair.series(SCALE, e.pair.ranks[0]) if len(side)]
    if len(scales) == 2 and scales[0] != scales[1]:
        facts.append(Fact("scale", {"one": shown(scales[0]), "other": shown(scales[1])}))
    if e.rates.is_zero:
        facts.append(Fact("rate.zero"))
    if e.pair.tolerance.loss > tolerance(e.pair.baseline, e.pair.candidate).loss and not e.pair.tolerance.is_sure:
        facts.append(Fact("start.small", {"apart": f"{e.pair.start:.2g}"}))
    return list(facts)
