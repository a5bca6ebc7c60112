"""The calls of one pass in their order: the first that differs without cause, or whose inputs come from nowhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from porter.dumps.align import Pair
from porter.dumps.apart import weights_differ
from porter.dumps.model import BACKWARD, FORWARD, Call, mark
from porter.dumps.states import Row, State, States, most
from porter.dumps.tolerance import GROWTH
from porter.dumps.verdict import Verdict

_NOTHING = 1e-9  # of an output: the same
_MARGIN = 1.5  # times what is allowed, where statistics of halves are all there is
_ALIKE = 1e-3  # of the factors by which numbers of one tensor differ
_CHANCE = (("dropout_p", 0.0), ("dropout_rate", 0.0), ("keep_prob", 1.0))  # arguments that draw, and where they do not


@dataclass
class Walk:
    states: States
    pairs: list[Pair]
    is_first: bool  # no step before it is compared
    excuse: str = ""  # why what follows may differ: random, discrete, update
    excused: Pair | None = None
    after: Pair | None = None  # the last call that agrees
    _level: float = 0.0  # how far outputs of calls that agree are apart at most
    _inner: dict[str, float] = field(default_factory=dict)  # module -> the same, of the calls within it
    _made: dict[tuple[object, ...], float] = field(default_factory=dict)

    def run(self) -> Verdict | None:
        for pair in self.pairs:
            verdict = self._look(pair, self._state(pair))
            if verdict is not None:
                verdict.after = verdict.after or self.after
                return verdict
        return None

    def _state(self, pair: Pair) -> State:
        state = self.states.of(pair)
        state.around = max(self._inner.get(pair.name, 0.0), 0.0 if state.is_by_tensors else self._level)
        return state

    def _look(self, pair: Pair, state: State) -> Verdict | None:
        if weights := self._weights(pair, state):
            if self.is_first:
                return _weights_of(pair, weights)
            self._excuse("update", pair)
            return None
        if pair.one.name.direction != FORWARD and not state.inputs:
            return None  # what came into it is not known
        strange = [row for row in state.inputs if self._is_strange(row, state)]
        if strange:
            return None if self.excuse or self._has_no_effect(pair) else self._incoming(pair, strange)
        if "uninitialised" in state.kinds:  # what it held accounts for inputs of later calls, and for nothing else
            self._made |= {mark(row[1]): row[3].size for row in state.outputs}
            return None
        if state.differs:
            return self._origin(pair, state)
        self._agrees(pair, state)
        return None

    def _weights(self, pair: Pair, state: State) -> list[Row]:
        """Of a module its parameters; of an operator what trains and no call has made."""
        if pair.one.name.direction != FORWARD:
            return []
        slots = self.states.weights_of(pair)
        rows = [row for row in (*state.held, *state.inputs) if row[0] in slots]
        return [row for row in rows if weights_differ(row[1], row[2], state.floor)]

    def _is_strange(self, row: Row, state: State) -> bool:
        """Whether an input is further apart than rounding before it explains."""
        _, one, _, apart = row
        if not one.is_float:
            return apart.size > self._made.get(mark(one), 0.0)
        expected = self._made.get(mark(one), self._level)
        return apart.size > state.growth * max(expected, state.floor)

    def _agrees(self, pair: Pair, state: State) -> None:
        rows = [row for row in state.outputs if row[1].is_float]
        if not rows:
            return
        self.after = pair
        known = [row for row in rows if row[3].size < inf]
        self._made |= {mark(row[1]): row[3].size for row in known}
        # without what cancels: it is far apart, and no measure of the rest
        size = max((min(row[3].size, state.excess(row, 0.0) * state.floor) for row in known), default=0.0)
        self._level = max(self._level, size)
        if pair.one.name.direction == FORWARD:  # all of it is in what the module gives
            size = most(known)
        for above in self.states.above(pair):
            self._inner[above.name] = max(self._inner.get(above.name, 0.0), size)

    def _excuse(self, why: str, pair: Pair) -> None:
        if self.excuse in ("", "update"):  # what is drawn accounts for more than an update does
            self.excuse, self.excused = why, pair

    def _has_no_effect(self, pair: Pair) -> bool:
        """A module around it gives the same."""
        for above in self.states.above(pair):
            state = self.states.of(above)
            known = [row for row in state.outputs if row[1].is_float and row[3].is_known]
            if known and most(known) <= max(self._level, _NOTHING):
                return True
        return False

    def _incoming(self, pair: Pair, strange: list[Row]) -> Verdict:
        """No call before it differs, and yet an input does."""
        row = strange[0]
        by_hash = all(each[3].how == "md5" for each in strange)
        for above in self.states.above(pair):
            state = self._state(above)
            if self.is_first and (weights := self._weights(above, state)):
                return _weights_of(above, weights)
            if state.differs and not any(self._is_strange(each, state) for each in state.inputs):
                if any(each[3].how == "md5" and each[3].size for each in state.outputs):
                    return Verdict("md5", above)
                return Verdict("inside", above, values={"child": pair.name})
        values: dict[str, object] = {"slot": row[0]}
        if pair.one.name.direction == FORWARD:
            is_made = mark(row[1]) in self._made
            is_data = (self.after is None or not row[1].is_float) and not is_made
            return Verdict("data" if is_data else "md5" if by_hash else "between", pair, values=values)
        if self.after is None and (factor := _factor(row)):
            return Verdict("scaled", pair, values={**values, "factor": f"{factor:.6g}"})
        return Verdict("md5" if by_hash else "incoming" if self.after is None else "between", pair, values=values)

    def _origin(self, pair: Pair, state: State) -> Verdict | None:
        worst = state.worst
        assert worst
        if worst[3].how in ("shape", "finite"):
            return Verdict(worst[3].how, pair)
        if self.excuse in ("random", "discrete"):
            return None  # nothing behind it tells a fault from what was drawn
        draws = [_draws(call, state.kinds) for call in (pair.one, pair.other)]
        if all(draws):
            self._excuse("random", pair)
            return None
        if any(draws):
            return Verdict("dropout", pair, values={"side": "baseline" if draws[0] else "candidate"})
        if self._has_no_effect(pair):
            return None
        if "discrete" in state.kinds and (state.came or self._level):
            self._excuse("discrete", pair)
            return None
        if worst[3].how == "md5":
            return Verdict("md5", pair)
        if "collective" in state.kinds:
            return Verdict("collective", pair)
        is_weak = "lookup" in state.kinds and any(row[3].is_weak for row in state.inputs)
        if is_weak and _is_alike(worst) and not pair.arguments:
            return Verdict("lookup", pair)
        if state.is_vague and state.excess(worst) < _MARGIN:
            return Verdict("margin", pair)
        if self.excuse == "update" and pair.one.name.direction == BACKWARD:
            return None
        direction = pair.one.name.direction
        reason = "several" if pair.first else "outputs" if direction in (FORWARD, BACKWARD) else "gradient"
        return Verdict(reason, pair)


def _weights_of(pair: Pair, rows: list[Row]) -> Verdict:
    return Verdict("weights", pair, values={"names": ", ".join(row[0] for row in rows)})


def _draws(call: Call, kinds: frozenset[str]) -> bool:
    """Whether what comes out is drawn: not of dropout that lets all through."""
    for name, still in _CHANCE:
        if name in call.literals:
            try:
                if float(call.literals[name]) != still:
                    return call.literals.get("training") != "False"
            except ValueError:
                continue
    if "random" not in kinds:
        return False
    came, went = (next(iter(side.values()), None) for side in (call.inputs, call.outputs))
    return came is None or went is None or mark(came) != mark(went)


def _is_alike(row: Row) -> bool:
    """Of about one size, as other rows of one table are."""
    one, other = row[1].rms, row[2].rms
    return bool(one and other) and 0.5 < (other or 0.0) / (one or 1.0) < 2.0


def _factor(row: Row) -> float | None:
    """By which all numbers of one tensor differ."""
    _, one, other, _ = row
    pairs = [(one.norm, other.norm), (one.top, other.top), (one.bottom, other.bottom)]
    factors = [b / a for a, b in pairs if a and b and abs(a) < inf and abs(b) < inf]
    if len(factors) < 2 or max(factors) - min(factors) > _ALIKE * abs(factors[0]):
        return None
    return factors[0] if abs(factors[0] - 1) > GROWTH.statistics * 1e-3 else None
