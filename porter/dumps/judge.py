"""Two dumps of one rank and one step: a verdict, from the alignment, the weights and both passes."""

from __future__ import annotations

from porter.compare.verdict import Fact
from porter.dumps.align import Aligned, Pair
from porter.dumps.apart import statistics_apart, weights_differ
from porter.dumps.model import mark
from porter.dumps.names import path_of
from porter.dumps.states import State, States, most
from porter.dumps.tolerance import MOSTLY, REDUCED, SHARE, SINGLE, unit
from porter.dumps.verdict import Verdict
from porter.dumps.walk import Walk

_FEW, _PRODUCTS = 0.3, 3
_WEIGHTS = 2  # fewer do not tell a seed from a fault


def judge(found: Aligned, states: States, is_first: bool) -> Verdict:
    if found.share < _FEW or not found.forward and not found.backward:
        return Verdict("unaligned")
    if (verdict := _weights(states, is_first)) is not None:
        return verdict
    verdict = _passes(states, is_first)
    if _is_reduced(states, verdict):
        first = verdict.pair
        states.raised(REDUCED)
        verdict = _passes(states, is_first)
        if verdict.outcome != "difference":
            verdict = Verdict("reduced", first)
        verdict.evidence.append(Fact("reduced"))
    if found.ends and verdict.outcome == "none":
        side, last = found.ends
        return Verdict("ends", last, values={"side": side})
    return verdict


def _passes(states: States, is_first: bool) -> Verdict:
    forward = Walk(states, states.found.forward, is_first)
    if (verdict := forward.run()) is not None:
        return verdict
    backward = Walk(states, states.found.backward, is_first, forward.excuse, forward.excused)
    if (verdict := backward.run()) is not None:
        return verdict
    return _none(states, backward)


def _none(states: States, walk: Walk) -> Verdict:
    """No call is at fault; that nothing differs is said only where it is so."""
    rows = [states.of(pair) for pair in (*states.found.forward, *states.found.backward)]
    sizes = [row for state in rows for row in (*state.inputs, *state.outputs)]
    known = [row[3] for row in sizes if row[3].is_known]
    if not known:
        return Verdict("unknown")
    if walk.excuse in ("random", "discrete"):
        return Verdict(walk.excuse, walk.excused)
    if far := next((state for state in rows if _is_far(state)), None):
        return Verdict("grown", far.pair)
    if all(apart.size == 0 for apart in known):
        return Verdict("equal", values={"n": len(rows)})
    worst = max(rows, key=lambda state: max((state.excess(row, 0.0) for row in state.outputs), default=0.0))
    return Verdict("rounding", worst.pair, values={"n": len(rows)})


def _is_far(state: State) -> bool:
    if "uninitialised" in state.kinds:
        return False
    return any(state.excess(row, 0.0) > state.growth for row in state.outputs)


def _weights(states: States, is_first: bool) -> Verdict | None:
    """Of most modules: another seed, or the update of a step before. Of a few, the walk finds the first of them. Constants say
    nothing: they are the same with every seed."""
    found: dict[object, tuple[Pair, bool]] = {}
    for pair in states.found.forward:
        slots = states.weights_of(pair)
        for slot, one, other in (*pair.weights, *pair.inputs) if slots else ():
            is_constant = one.top is not None and one.top == one.bottom
            if slot not in slots or not one.is_float or is_constant or one.count != other.count:
                continue
            floor = max(unit(one.dtype), states.base) * (1 if is_first else 10)
            differs = weights_differ(one, other, floor) if is_first else statistics_apart(one, other).size > floor
            named = path_of(pair.one.name.path) if pair.one.is_module else mark(one)
            found.setdefault((named, slot), (pair, differs))
    differing = [pair for pair, differs in found.values() if differs]
    if len(found) < _WEIGHTS or len(differing) <= MOSTLY * len(found):
        return None
    values: dict[str, object] = {"n": len(differing), "all": len(found)}
    return Verdict("seed" if is_first else "update", None if is_first else differing[0], values=values)


def _is_reduced(states: States, verdict: Verdict) -> bool:
    """Whether the first product, and all others of the forward pass, differ as those of ten bits of mantissa do. A run that
    computes mostly in halves, as `states.base` says, is not asked; the types of single products are not looked at."""
    if verdict.pair is None or verdict.reason != "outputs" or states.base > SINGLE:
        return False
    state = states.of(verdict.pair)
    if "product" not in state.kinds or any(state.excess(row) * SINGLE > REDUCED for row in state.outputs):
        return False
    every = map(states.of, states.found.forward)
    sizes = [most(each.outputs) for each in every if "product" in each.kinds and each.outputs]
    return len(sizes) >= _PRODUCTS and min(sizes) > SINGLE


def precision_facts(states: States) -> list[Fact]:
    if not states.is_mixed:
        return []
    one, other = ((name if share > SHARE else "float32") for name, share in states.halves)
    return [Fact("mixed", {"one": one, "other": other})]
