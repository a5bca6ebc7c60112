"""All ranks and steps of two folders: the first step in which any rank says something, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.compare.verdict import DIFFERENCE, NONE, UNSURE, Fact
from porter.diagnose.traces import Frame
from porter.dumps.align import Aligned, Pair, align
from porter.dumps.find import Steps, common, find
from porter.dumps.judge import judge, precision_facts
from porter.dumps.model import FORWARD, Dump
from porter.dumps.names import of_pass
from porter.dumps.read import read
from porter.dumps.rules import operation
from porter.dumps.stack import stack
from porter.dumps.states import State, States
from porter.dumps.verdict import Verdict
from porter.rulebook.table import LANGUAGES

BEFORE, BEHIND = 4, 6  # calls that are shown around the place
_SOME = 6


@dataclass
class Result:
    """Of one step and rank; plain enough to outlive its dumps."""

    step: int
    rank: int
    verdict: Verdict
    module: str = ""  # that is at fault, or in which the place is
    course: list[State] = field(default_factory=list)  # calls around the place, in their order
    stack: list[Frame] = field(default_factory=list)
    is_of_baseline: bool = False  # the stack
    aligned: tuple[int, int, int] = (0, 0, 0)  # pairs, and calls of each side
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    floor: float = 0.0
    has_tensors: bool = False
    heads: tuple[str, str] = ("", "")  # framework, level and task of each side
    notes: list[Fact] = field(default_factory=list)

    @property
    def order(self) -> tuple[object, ...]:
        """The first is what is told: a difference before what is open, and of these the earliest call."""
        pair, reason = self.verdict.pair, self.verdict.reason
        direction = pair.one.name.direction if pair else FORWARD
        late = reason == "collective"  # what another rank began
        outcome = (DIFFERENCE, UNSURE, NONE).index(self.verdict.outcome)
        return (0 if reason == "seed" else 1, outcome, late, direction != FORWARD, pair.at if pair else 0, self.rank)


@dataclass
class Comparison:
    names: tuple[str, str]
    results: list[Result]  # of the step that is told, the one that is told first
    steps: tuple[list[int], list[int]]
    ranks: tuple[list[int], list[int]]
    agreed: list[int] = field(default_factory=list)  # steps before it, in which nothing differs

    @property
    def result(self) -> Result:
        return self.results[0]


def compare(one: str, other: str) -> Comparison:
    """Raises UserError, FilesError. A rank's dumps are held while they are compared, and of tensors one of each side."""
    mine, theirs = find(one), find(other)
    rows = common(mine, theirs, (one, other))
    steps = sorted({step for step, *_ in rows})
    agreed: list[int] = []
    results: list[Result] = []
    for step in steps:
        results = [_result(*row, step == steps[0]) for row in rows if row[0] == step]
        results.sort(key=lambda result: result.order)
        if results[0].verdict.outcome != NONE or step == steps[-1]:
            break
        agreed.append(step)
    return Comparison((one, other), results, (list(mine), list(theirs)), (_ranks(mine), _ranks(theirs)), agreed)


def _ranks(found: Steps) -> list[int]:
    return sorted({rank for ranks in found.values() for rank in ranks})


def _result(step: int, rank: int, mine: str, theirs: str, is_first: bool) -> Result:
    one, other = read(mine), read(theirs)
    found = align(one, other)
    states = States(one, other, found)
    verdict = judge(found, states, is_first)
    heads = " ".join([one.framework, one.level, one.task]), " ".join([other.framework, other.level, other.task])
    result = Result(step, rank, verdict, heads=heads, missing=found.missing, extra=found.extra)
    result.aligned = len(found.forward) + len(found.backward), *found.calls
    if verdict.pair is not None:
        _about(result, verdict.pair, states, found, (one, other))
    verdict.evidence += precision_facts(states)
    result.floor = max([states.base, *(state.floor for state in result.course)])
    result.notes += [Fact(f"note.{key}", values) for dump in (one, other) for key, values in dump.notes]
    if states.measure.absent:
        result.notes.append(Fact("note.absent", {"n": states.measure.absent}))
    return result


def _about(result: Result, pair: Pair, states: States, found: Aligned, dumps: tuple[Dump, Dump]) -> None:
    state = states.of(pair)
    result.has_tensors = state.is_by_tensors
    result.module = pair.one.name.path or next((above.one.name.path for above in states.above(pair)), "")
    pairs = found.forward if pair.one.name.direction == FORWARD else found.backward
    at = next(n for n, each in enumerate(pairs) if each is pair)
    result.course = [states.of(each) for each in pairs[max(0, at - BEFORE) : at + BEHIND + 1]]
    # inside of a module, the call before which it begins says more than the module's own
    inner = found.by_name.get(str(result.verdict.values.get("child")), pair)
    arguments = [Fact("argument", dict(zip(("name", "one", "other"), row))) for row in inner.arguments[:_SOME]]
    result.verdict.evidence += [*_numbers(state), *_types(states.of(inner)), *arguments, *_others(inner)]
    for number in (1, 0):
        # that of a backward pass is the engine's
        frames, error = stack(dumps[number].folder, of_pass((inner.one, inner.other)[number], FORWARD))
        if error:
            result.notes.append(Fact("note.stack", {"why": {lang: error.text(lang) for lang in LANGUAGES}}))
        if frames:
            result.stack, result.is_of_baseline = frames, number == 0
            return


def _numbers(state: State) -> list[Fact]:
    """Of what went in and of what came out, the tensor that is furthest apart."""
    came = max([*state.inputs, *state.held], key=lambda row: row[3].size, default=None)
    facts = [] if came else [Fact("in.none")]
    for key, row in (("in", came), ("out", state.worst)):
        if row is not None:
            slot, one, other, apart = row
            values = {"slot": slot or "0", "size": apart.size, "how": apart.how, "by": apart.by, "cosine": apart.cosine}
            numbers = {"one": one.numbers, "other": other.numbers, "shapes": [list(one.shape), list(other.shape)]}
            facts.append(Fact(key, values | numbers))
    return facts


def _types(state: State) -> list[Fact]:
    for slot, one, other, _ in (*state.inputs, *state.outputs):
        if one.dtype != other.dtype:
            return [Fact("types", {"slot": slot or "0", "one": one.dtype, "other": other.dtype})]
    return []


def _others(pair: Pair) -> list[Fact]:
    """Calls that one side alone has before it, and what is called otherwise."""
    facts = []
    for key, texts in zip(("alone.baseline", "alone.candidate"), pair.between):
        if texts:
            facts.append(Fact(key, {"n": len(texts), "names": ", ".join(texts[:_SOME])}))
    one, other = pair.one.name, pair.other.name
    if operation(one.operator) != operation(other.operator):
        facts.append(Fact("classes", {"one": pair.one.text, "other": pair.other.text}))
    return facts
