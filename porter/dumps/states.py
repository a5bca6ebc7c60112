"""How a call that both sides have stands: how far its inputs, weights and outputs are apart, and how far they may be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import inf, isfinite, sqrt

from porter.dumps.align import Aligned, Pair, Values
from porter.dumps.apart import Apart, Measure
from porter.dumps.model import BACKWARD, FORWARD, GRADIENTS, Dump, Value, mark
from porter.dumps.names import of_pass
from porter.dumps.rules import kinds
from porter.dumps.tolerance import CONDITION, GROWTH, MASKED, REDUCED, SHARE, SINGLE, is_half, unit

Row = tuple[str, Value, Value, Apart]


@dataclass(slots=True)
class State:
    pair: Pair
    inputs: list[Row]
    held: list[Row]  # weights; of a backward call what its forward call got
    outputs: list[Row]
    floor: float  # what one operation may change by rounding
    is_by_tensors: bool
    # how far the calls are apart that it consists of, and of statistics all before it: they show a part of it
    around: float = 0.0

    @property
    def came(self) -> float:
        """How far inputs and weights are apart."""
        return most([*self.inputs, *self.held])

    @property
    def is_vague(self) -> bool:
        """Whether statistics of values that were rounded coarsely are all there is."""
        return self.floor > REDUCED and not self.is_by_tensors

    @property
    def growth(self) -> float:
        return GROWTH.tensors if self.is_by_tensors else GROWTH.statistics

    def excess(self, row: Row, came: float | None = None) -> float:
        """By how many times more than it may be an output is apart; `came`: how far the inputs are, if not as they are."""
        came = max(self.came, self.around) if came is None else came
        allowed = _condition(self.pair, self.inputs, row) * max(self.floor, self.growth * came)
        return 0.0 if allowed == inf or not row[3].size else row[3].size / allowed

    @property
    def worst(self) -> Row | None:
        """The output that exceeds by most what came in accounts for."""
        return max(self.outputs, key=self.excess, default=None)

    @property
    def differs(self) -> bool:
        return any(self.excess(row) > 1 for row in self.outputs)

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset().union(*(kinds(c.name.prefix, c.name.operator) for c in (self.pair.one, self.pair.other)))


def most(rows: list[Row]) -> float:
    return max((row[3].size for row in rows), default=0.0)


class States:
    """Of the calls of two dumps; each is measured once, when it is first asked for."""

    def __init__(self, one: Dump, other: Dump, found: Aligned) -> None:
        self.found, self.measure = found, Measure((one.folder, other.folder))
        self._dumps = one, other
        self._by_name = found.by_name
        self._known: dict[str, State] = {}
        self.halves = [_halves(found, at) for at in (0, 1)]
        sides = [part for part in self.halves if part[1] > SHARE]
        # of what most computes in: it is in all numbers, whatever their own type is
        self.base = max((unit(part[0]) for part in sides), default=0.0)
        self._carried = 0.0  # of halves that values went through
        self.has_weights = any(pair.one.weights for pair in found.forward)
        self._made = {mark(value) for call in one.of(FORWARD) for value in call.outputs.values()}

    @property
    def is_mixed(self) -> bool:
        """Whether one side alone computes in a half, throughout."""
        return (self.halves[0][1] > SHARE) != (self.halves[1][1] > SHARE)

    def raised(self, floor: float) -> None:
        """All is asked again with another noise."""
        self.base, self._carried, self._known = max(self.base, floor), 0.0, {}

    def of(self, pair: Pair) -> State:
        if pair.name not in self._known:
            self._known[pair.name] = self._state(pair)
        return self._known[pair.name]

    def weights_of(self, pair: Pair) -> set[str]:
        """Slots: the parameters of a module; where the dump has none, what trains, stands behind the first input, and no call made."""
        if pair.one.name.direction != FORWARD or self.has_weights:
            return set(pair.one.weights)
        if "weighted" not in kinds(pair.one.name.prefix, pair.one.name.operator):
            return set()
        rows = pair.one.inputs.items()
        return {slot for slot, value in rows if slot != "0" and value.trains and mark(value) not in self._made}

    def above(self, pair: Pair) -> list[Pair]:
        """The modules that the call stands in, the innermost first."""
        found: list[Pair] = []
        text, parents = pair.name, self._dumps[0].parents
        while (text := parents.get(text, "")) and len(found) < 200:
            if text in self._by_name and self._by_name[text] not in found:
                found.append(self._by_name[text])
        return found

    def _state(self, pair: Pair) -> State:
        inputs, held, direction = self._rows(pair.inputs), self._rows(pair.weights), pair.one.name.direction
        if direction == GRADIENTS:
            backward = self._by_name.get(of_pass(pair.one, BACKWARD))
            inputs = self._rows(backward.inputs) if backward else []
        if direction != FORWARD and (before := self._by_name.get(of_pass(pair.one, FORWARD))):
            held = self._rows([*before.inputs, *before.weights])
        outputs = self._rows(pair.outputs)
        rows = [*inputs, *held, *outputs]
        by_tensors = any(row[3].how == "tensors" for row in rows)
        # of the baseline: a type that the candidate has in a few calls alone is a difference
        own = max((unit(one.dtype) for _, one, _, _ in rows if one.is_float), default=SINGLE)
        floor = max(self.base, own, 0.0 if by_tensors else self._carried)
        if not by_tensors and any(is_half(one.dtype) and one.is_float for _, one, _, _ in outputs):
            self._carried = max(self._carried, floor)
        return State(pair, inputs, held, outputs, floor, by_tensors)

    def _rows(self, values: Values) -> list[Row]:
        return [(slot, one, other, self.measure(one, other)) for slot, one, other in values]


def _halves(found: Aligned, at: int) -> tuple[str, float]:
    """The commonest half of one side, and the share of its calls that have one."""
    counts: Counter[str] = Counter()
    for pair in found.forward:
        call = (pair.one, pair.other)[at]
        values = (*call.outputs.values(), *call.inputs.values())
        counts.update({value.dtype for value in values if value.is_float and is_half(value.dtype)})
    name = max(counts, key=lambda each: (counts[each], each), default="")
    return name, counts[name] / (len(found.forward) or 1)


def _condition(pair: Pair, inputs: list[Row], output: Row) -> float:
    """How many times larger than what comes out that is which goes in, and is summed: rounding is of the latter's size."""
    came = [one for _, one, _, _ in inputs if _is_summed(one)]
    went = output[1]
    if not came or not _is_summed(went):
        return 1.0
    what, first = kinds(pair.one.name.prefix, pair.one.name.operator), came[0]
    is_of_weights = "weighted" in what and output[0] != "0" or went.count < max(value.count for value in came)
    if pair.one.name.direction == GRADIENTS or pair.one.name.direction == BACKWARD and is_of_weights:
        # a sum over the batch, which may cancel to nothing
        return max(1.0, max(value.norm or 0.0 for value in came) / went.norm) if went.norm else inf
    factors = [1.0, max(value.rms or 0.0 for value in came) / went.rms if went.rms else CONDITION]
    if "centred" in what and first.rms and first.mean is not None:
        share = first.mean / first.rms
        left = sqrt(max(0.0, 1 - share * share))
        factors.append(1 / left if left else CONDITION)
    if "exponential" in what and first.top is not None and isfinite(first.top):
        factors.append(abs(first.top))
    return min(CONDITION, max(factors))


def _is_summed(value: Value) -> bool:
    """Numbers, and no mask: what fills one is not summed."""
    is_mask = value.bottom is not None and value.bottom <= MASKED
    return value.is_float and value.norm is not None and isfinite(value.norm) and not is_mask
