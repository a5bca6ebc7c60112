"""Which call of one dump is which of the other: in their order, also where one side has other operators in between."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.dumps.apart import statistics_apart
from porter.dumps.model import BACKWARD, FORWARD, GRADIENTS, Call, Dump, Value
from porter.dumps.names import key

_FAR = 400  # calls that are looked ahead, for the next three that both sides have
_SURE = 3

Values = list["tuple[str, Value, Value]"]  # slot, of the baseline, of the candidate


@dataclass(slots=True)
class Pair:
    """A call of both sides; or, with `first`, several of each side, of which these are the last."""

    one: Call
    other: Call
    at: int = 0  # in the order of the baseline
    first: tuple[Call, Call] | None = None
    between: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # calls before it that the other side has not

    @property
    def name(self) -> str:
        return self.one.text

    @property
    def inputs(self) -> Values:
        one, other = self.first or (self.one, self.other)
        return _paired(one.inputs, other.inputs)

    @property
    def weights(self) -> Values:
        return _paired(self.one.weights, self.other.weights)

    @property
    def outputs(self) -> Values:
        return _paired(self.one.outputs, self.other.outputs)

    @property
    def arguments(self) -> list[tuple[str, str, str]]:
        """Those that are no tensors and differ."""
        one, other = self.one.literals, self.other.literals
        return [(name, one[name], other[name]) for name in one if name in other and one[name] != other[name]]


@dataclass
class Aligned:
    forward: list[Pair] = field(default_factory=list)
    backward: list[Pair] = field(default_factory=list)
    calls: tuple[int, int] = (0, 0)  # of the directions that are aligned, of each side
    missing: list[str] = field(default_factory=list)  # in the candidate
    extra: list[str] = field(default_factory=list)
    ends: tuple[str, Pair] | None = None  # the side that ends early, and the last call of both

    @property
    def by_name(self) -> dict[str, Pair]:
        return {pair.name: pair for pair in (*self.forward, *self.backward)}

    @property
    def share(self) -> float:
        """Of the calls of the shorter side, those that are aligned."""
        return (len(self.forward) + len(self.backward)) / (min(self.calls) or 1)


def align(one: Dump, other: Dump) -> Aligned:
    left, right = _same_levels(one.of(FORWARD), other.of(FORWARD))
    found = Aligned()
    found.forward = _in_order(left, right)
    mine, theirs = _same_levels(one.of(BACKWARD, GRADIENTS), other.of(BACKWARD, GRADIENTS))
    found.backward = _by_forward(mine, theirs, found.forward)
    found.calls = len(left) + len(mine), len(right) + len(theirs)
    pairs = [pair for pair in (*found.forward, *found.backward) if not pair.first]
    known = {pair.one.text for pair in pairs}, {pair.other.text for pair in pairs}
    found.missing = [call.text for call in (*left, *mine) if call.text not in known[0]]
    found.extra = [call.text for call in (*right, *theirs) if call.text not in known[1]]
    found.ends = _ends(found, (left, mine), (right, theirs))
    return found


def _ends(
    found: Aligned, one: tuple[list[Call], list[Call]], other: tuple[list[Call], list[Call]]
) -> tuple[str, Pair] | None:
    """Whether one side stops where the other goes on: in a pass, or before the backward pass."""
    for way, pairs in ((1, found.backward), (0, found.forward)):
        if not pairs:
            continue
        last = pairs[-1]
        left = [len(calls) - 1 - calls.index(call) for calls, call in ((one[way], last.one), (other[way], last.other))]
        if not way:
            left = [left[0] + len(one[1]), left[1] + len(other[1])]
        for side, at in (("candidate", 1), ("baseline", 0)):
            if not left[at] and left[1 - at] >= _SURE:
                return side, last
        return None
    return None


def _same_levels(one: list[Call], other: list[Call]) -> tuple[list[Call], list[Call]]:
    """Where a side has no modules, or no operators, the other's are left out."""
    for is_module in (True, False):
        sides = [any(call.is_module is is_module for call in side) for side in (one, other)]
        if sides[0] != sides[1] and one and other:
            one, other = ([call for call in side if call.is_module is not is_module] for side in (one, other))
    return one, other


def _in_order(one: list[Call], other: list[Call]) -> list[Pair]:
    """Where the two part, they go on together at the nearest place at which three calls are the same."""
    keys = [[key(call) for call in side] + ["end"] * _SURE for side in (one, other)]
    pairs: list[Pair] = []
    i = j = 0
    while i < len(one) and j < len(other):
        if keys[0][i] == keys[1][j]:
            pairs.append(Pair(one[i], other[j], i))
            i, j = i + 1, j + 1
            continue
        gap = _gap(keys[0][i : i + _FAR + _SURE], keys[1][j : j + _FAR + _SURE])
        if gap is None:
            break
        mine, theirs = one[i : i + gap[0]], other[j : j + gap[1]]
        pairs += _several(mine, theirs, i)
        i, j = i + gap[0], j + gap[1]
        mine, theirs, moved = _slid(pairs, mine, theirs, i)
        if not moved and i < len(one) and j < len(other):
            moved.append(Pair(one[i], other[j], i))
            i, j = i + 1, j + 1
        if moved:
            moved[0].between = tuple(call.text for call in mine), tuple(call.text for call in theirs)
        pairs += moved
    return _rest(pairs, one, other)


def _slid(
    pairs: list[Pair], mine: list[Call], theirs: list[Call], end: int
) -> tuple[list[Call], list[Call], list[Pair]]:
    """Of two calls of one kind, either may be the one that the other side has not: it is the one whose numbers are further off. What
    is paired anew is taken off `pairs`; `end`: of the gap, in the baseline."""
    moved: list[Pair] = []
    while pairs and not pairs[-1].first and bool(mine) != bool(theirs):
        last, gap = pairs[-1], mine or theirs
        kept, other = (last.other, last.one) if mine else (last.one, last.other)
        if key(gap[-1]) != key(other) or _off(kept, gap[-1]) >= _off(kept, other):
            break
        pairs.pop()
        at = end - 1 - len(moved) if mine else last.at
        moved.insert(0, Pair(gap[-1], kept, at) if mine else Pair(kept, gap[-1], at))
        gap = [other, *gap[:-1]]
        mine, theirs = (gap, theirs) if mine else (mine, gap)
    return mine, theirs, moved


def _off(one: Call, other: Call) -> float:
    values = _paired(one.outputs, other.outputs) + _paired(one.inputs, other.inputs)
    return sum(min(1.0, statistics_apart(mine, theirs).size) for _, mine, theirs in values) if values else 1.0


def _gap(one: list[str], other: list[str]) -> tuple[int, int] | None:
    """How many calls of each side to pass over."""
    places: dict[tuple[str, ...], int] = {}
    for at in range(len(other) - _SURE, -1, -1):
        places[tuple(other[at : at + _SURE])] = at
    found = [
        (a + places[step], a, places[step])
        for a in range(len(one) - _SURE + 1)
        if (step := tuple(one[a : a + _SURE])) in places
    ]
    return min(found)[1:] if found else None


def _several(one: list[Call], other: list[Call], at: int) -> list[Pair]:
    """Operators of one side in place of others, such as a fused one: they are one, from the first's inputs to the last's outputs."""
    if not one or not other or any(call.is_module for call in (*one, *other)):
        return []
    mine, theirs = (next(iter(side[-1].outputs.values()), None) for side in (one, other))
    if mine is None or theirs is None or mine.count != theirs.count:
        return []
    return [Pair(one[-1], other[-1], at + len(one) - 1, (one[0], other[0]))]


def _rest(pairs: list[Pair], one: list[Call], other: list[Call]) -> list[Pair]:
    """Modules that stand elsewhere in the other's order, by their names."""
    taken = {id(call) for pair in pairs for call in (pair.one, pair.other)}
    left = {key(call): call for call in other if call.is_module and id(call) not in taken}
    for at, call in enumerate(one):
        if call.is_module and id(call) not in taken and (match := left.pop(key(call), None)):
            pairs.append(Pair(call, match, at))
    return sorted(pairs, key=lambda pair: pair.at)


def _by_forward(one: list[Call], other: list[Call], forward: list[Pair]) -> list[Pair]:
    """Backward calls of modules by their names, of operators by those of their forward calls."""
    same = {_stem(pair.other): _stem(pair.one) for pair in forward if not pair.first}
    theirs = {same[stem] + call.name.direction: call for call in other if (stem := _stem(call)) in same}
    modules = {key(call) + call.name.direction: call for call in other if call.is_module}
    pairs = []
    before: list[str] = []
    for at, call in enumerate(one):
        match = theirs.get(_stem(call) + call.name.direction)
        if match is None and call.is_module:
            match = modules.get(key(call) + call.name.direction)
        if match is None:
            before.append(call.text)
            continue
        pairs.append(Pair(call, match, at, between=(tuple(before), ())))
        before = []
    return pairs


def _stem(call: Call) -> str:
    """Of a call in any direction; gradients of parameters have numbers of their own, of micro batches."""
    name = call.name
    return f"{name.prefix}.{name.path}.{name.operator}.{name.number}"


def _paired(one: dict[str, Value], other: dict[str, Value]) -> Values:
    """By their places; what is left, in its order, where sizes agree."""
    found = [(slot, value, other[slot]) for slot, value in one.items() if slot in other]
    mine = [(slot, value) for slot, value in one.items() if slot not in other]
    theirs = [value for slot, value in other.items() if slot not in one]
    for slot, value in mine:
        match = next((at for at, each in enumerate(theirs) if each.count == value.count), None)
        if match is not None:
            found.append((slot, value, theirs.pop(match)))
    return found
