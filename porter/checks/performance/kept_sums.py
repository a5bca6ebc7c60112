"""Sums of losses that can stay on the device until the loop is over, and what else waits beside them.

`total += loss.item()` becomes `total += loss.detach().float()`, with `total = float(total)` behind the loop, where nothing in the
loop reads the total or a clock, and where it was the last to wait.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from porter.checks.performance.syncs import purpose
from porter.engine.together import ALSO
from porter.finding import Change
from porter.python.blocks import BODIES, below, once, place
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk
from porter.python.waits import CLOCKS, READS
from porter.regex import lazy
from porter.training import frequency, host_values, kinds, value_uses, waits_in_a_row
from porter.training.loops import loops_around

if TYPE_CHECKING:
    from porter.training.scene import Scene

_PLAIN = (ast.Assign, ast.AugAssign, ast.Expr)
_TIMER = lazy(r"(?i)(?:^|_)(?:timer|stop_?watch)")


def right_below(scene: Scene, link: Link) -> tuple[tuple[str, str], ...]:
    """For `Hit.values`: the lines of the statements right below that read other values of the device. They find the queue
    empty, and would be the first to wait once this one does not."""
    statement = next((above for above in ancestors(link) if isinstance(above[0], ast.stmt)), None)
    if statement is None or statement[1] is None or statement[0].__class__ not in _PLAIN:
        return ()
    lines = []
    for read in _waits_below(scene, statement):
        if not _has_to_be_read(read) and not _is_no_wait(read[0], scene, read):
            lines.append(str(read[0].end_lineno))
        if can_be_kept(scene, read):
            break
    return ((ALSO, ", ".join(lines)),) if lines else ()


def _waits_below(scene: Scene, statement: Link) -> Iterator[Link]:
    """The first waits of the statements right below, up to one that does not wait."""
    for following in below(statement):
        func = value_uses.first_wait(following) if following.__class__ in _PLAIN else None
        if func is None or (read := scene.link_to(func)) is None:
            return
        yield read


def _waits_above(scene: Scene, statement: Link) -> Iterator[Link]:
    """The first waits of the statements above, up to one that gives the device work."""
    around: Any = statement[1]
    field, index = place(around[0], statement[0])
    for above in reversed(getattr(around[0], field)[:index] if field in BODIES else ()):
        if not waits_in_a_row.is_quiet(above):
            return
        func = value_uses.first_wait(above) if above.__class__ in _PLAIN else None
        read = scene.link_to(func) if func is not None else None
        if read is not None and not _is_no_wait(read[0], scene, read):
            yield read


@once
def _is_no_wait(_: Node, scene: Scene, link: Link) -> bool:
    """Whether what is read lies on the host."""
    return (
        value_uses.lies_on_host(link)
        or kinds.settled(link)
        or value_uses.made_on_host(scene, link)
        or host_values.stays(scene, link[0].value, link)
    )


def _has_to_be_read(link: Link) -> bool:
    """Whether the program needs a value on the host: it waits there, and nothing is to be done."""
    return value_uses.is_wanted_there(link) or link[0].attr == "cpu" and value_uses.is_passed_on(link)


def first_wait(scene: Scene, link: Link) -> bool:
    """Whether nothing in the same statement, or the one right above, waits for the device before. A sum that can be kept
    on the device is no wait: once it is, the next line would be the first."""
    statement = _statement(link)
    if statement is None:
        return True
    if value_uses.first_wait(statement[0]) is not link[0]:
        return False
    while statement and (before := scene.link_to(value_uses.wait_above(statement))) is not None:
        if not value_uses.lies_on_host(before):
            return can_be_kept(scene, before)
        statement = _statement(before)
    return True


def _statement(link: Link) -> Link | None:
    return next((above for above in ancestors(link) if isinstance(above[0], ast.stmt)), None)


def can_be_kept(scene: Scene, link: Link | None) -> bool:
    return link is not None and _can_be_kept(link[0], scene, link)


@once
def _can_be_kept(func: Node, scene: Scene, link: Link) -> bool:
    """The host waits as before where one right below has to be read, so that all of them can be kept or none."""
    if not _is_apart(func, scene, link):
        return False
    statement = next(above for above in ancestors(link) if isinstance(above[0], ast.stmt))
    below = (read for read in _waits_below(scene, statement) if not _is_no_wait(read[0], scene, read))
    return all(_is_apart(read[0], scene, read) for read in below)


@once
def _is_apart(func: Node, scene: Scene, link: Link) -> bool:
    """Whether what is read is a sum, and neither a clock nor what waits beside it needs it now."""
    return _is_sum(func, scene, link) and not clock(link) and not _waits_still(scene, link)


@once
def _is_sum(_: Node, scene: Scene, link: Link) -> bool:
    reads = link[0].attr == "item" or link[0].attr == "data" and link[1][0].__class__ is ast.Subscript
    return reads and purpose(scene, link) == "summed" and read_after_loop(scene, link) is not None


def clock(link: Link) -> int:
    """The line in which the loop around reads a clock, which a wait makes meaningful, the next one if several do; else 0."""
    lines = _clocks(loops_around(link)[0])
    return next((line for line in lines if line > link[0].lineno), lines[0] if lines else 0)


@once
def _clocks(loop: Node) -> list[int]:
    calls = (n for part in loop.body for n in walk(part) if n.__class__ is ast.Call)
    return sorted(call.lineno for call in calls if _reads_clock(call))


def _reads_clock(call: Node) -> bool:
    """`time.time()`, `time()`, `time.perf_counter()`, `start.elapsed_time(end)`, `datetime.now()`, `self.timer.stop()`"""
    name, owner = call_name(call.func), getattr(call.func, "value", None)
    root = getattr(owner, "id", "") or getattr(owner, "attr", "")
    is_time = name == "time" and not call.args and root in ("", "time", "timeit")
    is_now = name in ("now", "utcnow") and root in ("datetime", "dt")
    return is_time or is_now or name in CLOCKS or name == "toc" or bool(_TIMER.search(root))


def _waits_still(scene: Scene, link: Link) -> bool:
    """Whether the host would wait as before without this wait: for another value in the same statement, or above without work
    for the device between them."""
    statement = next(above for above in ancestors(link) if isinstance(above[0], ast.stmt))
    own = {*walk(link[1][0])}
    for node in walk(statement[0]):
        if node.__class__ is ast.Call and node not in own and getattr(node.func, "attr", "") in READS:
            other = scene.link_to(node.func)
            if other is not None and not _is_no_wait(other[0], scene, other):
                return True
    return any(not _is_sum(read[0], scene, read) for read in _waits_above(scene, statement))


def read_after_loop(scene: Scene, link: Link) -> Change | None:
    """Of `total += loss.item()` in a loop that reads `total` nowhere: what reads the sum behind the loop."""
    statement: Any = link[1][1]  # a Link: mypy falls over where two of them are compared
    if statement[0].__class__ is ast.BinOp:  # weighed by the size of the batch
        statement = statement[1]
    loop: Node = next(iter(loops_around(link)), None)
    function = scene.function(link)
    if loop.__class__ is not ast.For or function is None or not _is_of_the_step(scene, link) or _is_of_one_step(link):
        return None
    if statement[0].__class__ is not ast.AugAssign or statement[0].target.__class__ is not ast.Name:
        return None
    name = statement[0].target.id
    for binding in scene.names.bindings(name, statement):
        if binding[1] is not statement and not (_begins(binding) and _apart(binding, scene, function, loop)):
            return None
    uses = scene.names.readers(name, (statement[0].target, statement))
    if not uses or not all(_apart(use, scene, function, loop) and not _is_taken_off(use) for use in uses):
        return None
    source = scene.file.source
    begin, end = source.span(loop)
    line_end = source.utf8.find(b"\n", end)
    if line_end < 0 or source.utf8[end:line_end].strip() or source.utf8[line_end - 1 : line_end] == b"\r":
        return None
    return Change(line_end, line_end, b"\n" + source.indentation(begin) + f"{name} = float({name})".encode())


def _is_of_the_step(scene: Scene, link: Link) -> bool:
    """Whether what is read is the loss, or always comes from the same call: `loss, accuracy = step(batch)`."""
    value, losses = link[0].value, scene.losses(link)
    if value_uses.bare(value, losses):
        return True
    bound = scene.names.bindings(value.id, link) if value.__class__ is ast.Name else []
    return bool(bound) and all(_is_beside_a_loss(binding, losses) for binding in bound)


def _is_beside_a_loss(binding: Link, losses: frozenset[str] | set[str]) -> bool:
    targets = binding[1]
    if targets is None or targets[0].__class__ is not ast.Tuple or targets[1][0].__class__ is not ast.Assign:
        return False
    is_called = targets[1][0].value.__class__ is ast.Call
    return is_called and any(getattr(target, "id", "") in losses for target in targets[0].elts)


def _begins(binding: Link) -> bool:
    """`total = 0.0`"""
    above = binding[1] and binding[1][0]
    return above.__class__ is ast.Assign and above.value.__class__ is ast.Constant


def _apart(link: Link, scene: Scene, function: Link, loop: Node) -> bool:
    """Whether a place lies in this function, and not in the loop."""
    around = scene.function(link)
    return around is not None and around[0] is function[0] and not loop.lineno <= link[0].lineno <= loop.end_lineno


def _is_taken_off(use: Link) -> bool:
    """`total - before`: what is left of two sums shows how exact they are."""
    above = use[1] and use[1][0]
    return above.__class__ is ast.BinOp and above.op.__class__ is ast.Sub


def _is_of_one_step(link: Link) -> bool:
    """Whether the loop goes over the parts of one batch, and the optimiser steps outside of it: what is read behind the loop is
    read in every step."""
    loop, *around = loops_around(link)
    if any(node.__class__ is ast.Call and call_name(node.func) == "step" for node in walk(loop)):
        return False
    names = {node.id for node in walk(loop.iter) if node.__class__ is ast.Name}
    outer = (above for above in around if above.__class__ is ast.For and not frequency.counts_epochs(above))
    return any(getattr(node, "id", "") in names for above in outer for node in walk(above.target))


def read_later(scene: Any, link: Link) -> Change | None:
    """What reads a sum behind the loop, where `.item()` would make the host wait in each step: that is not offered at first."""
    read = scene.link_to(link[0].value)
    if read is None or not scene.matters(read) or not can_be_kept(scene, read):
        return None
    return read_after_loop(scene, read)
