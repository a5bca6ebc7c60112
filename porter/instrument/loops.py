"""Finds the step of a plain training loop: the backward passes, and the optimiser that updates the weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from porter.analysis.file import File
from porter.instrument.backward import Backward, backwards, call_in, is_divided
from porter.instrument.batches import batch_at
from porter.instrument.marks import Line
from porter.instrument.naming import (
    functions_around,
    is_optimizer,
    model_at,
    optimizers_loop,
    statement_of,
    text_of,
)
from porter.python.assigned import values_of
from porter.python.blocks import place as place_in
from porter.python.evidence import call_name, constant, target_name
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy
from porter.training.context import Context
from porter.training.loops import LOOPS, loops_around

_SCALER = lazy(r"(?i)scaler|^amp$")
_CLIPS = lazy(r"clip_?grad|clip_by|^clip_")
RECORDER = "porter_recorder"


class Step(NamedTuple):
    """A statement that calls `step()` of an optimiser. The strings are expressions of the program."""

    link: Link  # of the statement
    optimizer: str
    scaler: str = ""
    closure: str = ""  # the function that is given to step()
    engine: str = ""  # the engine, as of DeepSpeed: model and optimiser in one object


class Missing(NamedTuple):
    """A place where a line should go and cannot."""

    line: int
    why: str
    text: str = ""


class Plan(NamedTuple):
    """The lines that go into one file."""

    lines: list[Line]
    missing: list[Missing]
    at: list[int]  # the lines of the steps that were found


def steps(file: File, losses: list[Backward]) -> list[Step]:
    """Every step of an optimiser in a file, in the order of the lines. `losses`: the backward passes of the file."""
    engines = {ast.unparse(b.func.value) for b in map(call_in, losses) if b.args}
    found = []
    for link in file.buckets[ast.Call]:
        call = link[0]
        if call.func.__class__ is not ast.Attribute or call.func.attr != "step":
            continue
        receiver, scaler, engine = call.func.value, "", ""
        if _SCALER.search(target_name(receiver)) and call.args:
            receiver, scaler = call.args[0], text_of(file, receiver)
        elif ast.unparse(receiver) in engines and not is_optimizer(receiver):
            engine = text_of(file, receiver)
        elif not is_optimizer(receiver) and not _is_made(file, receiver, link):
            continue
        statement = optimizers_loop(receiver, link) or statement_of(link)
        optimizer = text_of(file, receiver if statement[0].__class__ is not ast.For else _bare(statement[0].iter))
        closure = getattr(call.args[0], "id", "") if call.args and not scaler else ""
        closure = closure if closure in file.names.scopes.functions else ""
        found.append(Step(statement, optimizer, scaler, closure, engine))
    return sorted(dict.fromkeys(found), key=lambda step: step.link[0].lineno)


def _bare(node: Node) -> Node:
    """`optimizers` of `enumerate(optimizers)` and of `optimizers.values()`."""
    while node.__class__ is ast.Call:
        node = node.args[0] if node.args else node.func.value
    return node


def _is_made(file: File, receiver: Node, link: Link) -> bool:
    """Whether the name was bound to an optimiser of torch: `opt = torch.optim.SGD(...)`."""
    values = values_of(file.names, receiver, link) if isinstance(receiver, ast.Name) else []
    made = [file.names.resolve(v.func, link) for v in values if isinstance(v, ast.Call)]
    return any(full and full.startswith("torch.optim.") and ".lr_scheduler" not in full for full in made)


def plan(file: File, around: bool) -> Plan:
    """What to record in a file. `around`: also mark where each step begins and ends."""
    losses = backwards(file)
    result = Plan([], [], [])
    told: set[Node] = set()  # backward passes that have a line of their own
    for step in _main_steps(found := steps(file, losses)):
        before = [other for other in found if other.link[0].lineno < step.link[0].lineno]
        mine = _passes(step, losses, before)
        if not mine and not step.closure:
            continue
        result.at.append(step.link[0].lineno)
        _record_step(file, step, mine, result, told, around)
        for other in found:
            if other is not step and _displaces(step, other):
                earlier = [o for o in found if o.link[0].lineno < other.link[0].lineno]
                _record_losses(file, _passes(other, losses, earlier), result, told, {}, named=True)
    return result


def loop_of(link: Link) -> Node | None:
    """The innermost loop around a place; without one, the function."""
    return next(iter(loops_around(link)), None) or next(iter(functions_around(link)), None)


def _main_steps(found: list[Step]) -> list[Step]:
    """The steps that are recorded as steps of the training. Of several optimisers in one loop this is the last that steps in
    every round. Optimisers in exclusive branches all count."""
    return [step for step in found if not any(_displaces(other, step) for other in found if other is not step)]


def _displaces(other: Step, step: Step) -> bool:
    """Whether `other` is recorded in place of `step`: it stands in fewer conditions, or later under the same ones."""
    if loop_of(other.link) is not loop_of(step.link) or _exclusive(step.link, other.link):
        return False
    more, less = frozenset(_branches(other.link)), frozenset(_branches(step.link))
    if more == less:
        return bool(other.link[0].lineno > step.link[0].lineno)
    return bool(more < less)  # it stands in fewer conditions


def _exclusive(one: Link, other: Link) -> bool:
    """Whether two statements stand in different branches."""
    branches = _branches(one)
    return any(node in branches and branches[node] != field for node, field in _branches(other).items())


def _branches(link: Link) -> dict[Node, str]:
    """The `if` and `try` statements around a place, with the field of each that holds it: body, orelse."""
    child, branches = link[0], {}
    for above in ancestors(link):
        if above[0].__class__ in (ast.If, ast.Try):
            branches[above[0]] = place_in(above[0], child)[0]
        child = above[0]
    return branches


def _passes(step: Step, losses: list[Backward], before: list[Step]) -> list[Backward]:
    """The backward passes that a step is about: those in its closure, or those of its function since the step before."""
    if step.closure:
        return [b for b in losses if any(getattr(f, "name", "") == step.closure for f in functions_around(b.link))]
    function = Context.function(step.link)
    same = [b for b in losses if (Context.function(b.link) or [None])[0] is (function or [None])[0]]
    same = [b for b in same if b.link[0].lineno <= step.link[0].lineno and not _exclusive(b.link, step.link)]
    near = [b for b in same if not any(b.link[0].lineno <= o.link[0].lineno for o in before)]
    if near or same:
        return near or same[-1:]
    owner = Context.owner(step.link)  # backward_G() of a class whose optimize_parameters() steps
    return [b for b in losses if owner is not None and Context.owner(b.link) is owner]


def _record_step(file: File, step: Step, mine: list[Backward], result: Plan, told: set[Node], around: bool) -> None:
    names = {text_of(file, b.loss) if b.loss is not None else "" for b in mine}
    place = mine[-1].link if step.closure and mine else _above_clipping(step, mine)
    together = len(names) == 1 and "" not in names and (bool(step.closure) or all(_is_above(b, place) for b in mine))
    parts = [f"loss={names.copy().pop()}"] if together else []
    model = step.engine or model_at(file, place, step.optimizer)
    batches: dict[Node, str] = {}
    if not together:
        batches = {b.link[0]: batch_at(file, b.link, model) for b in _readers(mine, place)}
        _record_losses(file, mine, result, told, batches)
    batch = "" if any(batches.values()) else batch_at(file, place, model)
    given = (("optimizer", step.optimizer), ("model", model), ("batch", batch), ("scaler", step.scaler))
    parts += [f"{name}={text}" for name, text in given if text]
    text = f"{RECORDER}.step({', '.join(parts)})"
    result.lines.append(Line(text, place[0], below=bool(step.closure)))
    if around:
        _mark_around(file, step, result)


def _readers(mine: list[Backward], place: Link) -> list[Backward]:
    """The passes of a step that also record the batch: one for each round."""
    found: list[Backward] = []
    for backward in mine:
        same = Context.function(backward.link) == Context.function(place)
        if same and all(_exclusive(backward.link, other.link) for other in found):
            found.append(backward)
    return found


def _above_clipping(step: Step, mine: list[Backward]) -> Link:
    """The statement between the backward pass and the step that clips gradients; without one, the step."""
    holder = step.link[1]
    field, index = place_in(holder[0], step.link[0])
    place: Node = step.link[0]
    passed = max((b.link[0].lineno for b in mine), default=0)
    for statement in reversed(getattr(holder[0], field)[:index] if field else ()):
        if statement.lineno <= passed or any(s.__class__ in LOOPS for s in walk(statement)):
            break
        if any(_CLIPS.search(call_name(n.func)) for n in walk(statement) if n.__class__ is ast.Call):
            place = statement
    return place, holder


def _is_above(backward: Backward, place: Link) -> bool:
    """Whether a pass stands above `place` in the same block, where it may be inside of a `with` or of branches."""
    link = backward.link
    while link[1] is not None and link[1][0] is not place[1][0]:
        if link[1][0].__class__ not in (ast.With, ast.If, ast.Try):
            return False
        link = link[1]
    same = link[1] is not None and place_in(place[1][0], link[0])[0] == place_in(place[1][0], place[0])[0]
    if not same or link[0].lineno > place[0].lineno:
        return False
    return not (link[0].__class__ is ast.If and not link[0].orelse) and not _deleted(link[0], place)


def _deleted(backward: Node, place: Link) -> bool:
    """Whether a `del` stands between the two, as `del loss`."""
    field = place_in(place[1][0], place[0])[0]
    between = (s for s in getattr(place[1][0], field) if backward.lineno < s.lineno < place[0].lineno)
    return any(s.__class__ is ast.Delete for s in between)


def _record_losses(
    file: File, mine: list[Backward], result: Plan, told: set[Node], batches: Mapping[Node, str], named: bool = False
) -> None:
    """Records the loss of each pass by itself. `batches`: the batch, by the node of the pass. `named`: with the loss's name."""
    for backward in mine:
        if backward.link[0] in told:
            continue
        told.add(backward.link[0])
        if named and backward.loss.__class__ not in (ast.Name, ast.Attribute, ast.Subscript):
            continue  # another loss, which has no name
        if backward.loss is None:
            result.missing.append(Missing(backward.link[0].lineno, "loss"))
            continue
        text = text_of(file, backward.loss)
        name = f', "{text}"' if named and constant(backward.loss) is None and '"' not in text else ""
        part = ", is_part=True" if not named and is_divided(text, backward) else ""
        batch = f", batch={batches[backward.link[0]]}" if batches.get(backward.link[0]) else ""
        result.lines.append(Line(f"{RECORDER}.loss({text}{name}{part}{batch})", backward.link[0], below=True))


def _mark_around(file: File, step: Step, result: Plan) -> None:
    loop = next((n for n in loops_around(step.link) if n is not step.link[0]), None)
    function = Context.function(step.link)
    holder = loop if loop is not None else function[0] if function is not None else None
    if holder is None:
        result.missing.append(Missing(step.link[0].lineno, "begin", f"{RECORDER}.begin()"))
        return
    first = next((s for s in holder.body if not _is_text(s)), holder.body[0])
    model = model_at(file, (first, next(_links_to(step.link, holder))), step.optimizer)
    result.lines.append(Line(f"{RECORDER}.begin({model})", first))
    result.lines.append(Line(f"{RECORDER}.end()", step.link[0], below=True))


def _is_text(statement: Node) -> bool:
    return statement.__class__ is ast.Expr and constant(statement.value) is not None


def _links_to(link: Link, holder: Node) -> Iterator[Link]:
    return (above for above in ancestors(link) if above[0] is holder)
