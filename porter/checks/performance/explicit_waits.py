"""`torch.cuda.synchronize()`, and `.synchronize()` of a stream or an event: where nothing is measured or copied back, and where
it waits for what is read above or below."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.engine.rule import Hit, cst
from porter.python.assigned import values_of
from porter.python.blocks import BODIES, place
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk
from porter.python.waits import CLOCKS
from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.training.loops import LOOPS

if TYPE_CHECKING:
    from porter.training.scene import Scene

_MODULES = ("torch.cuda", "torch.npu", "torch_npu.npu")
FUNCTIONS = frozenset(f"{module}.synchronize" for module in (*_MODULES, "torch.accelerator"))
_MAKERS = frozenset(
    f"{module}.{name}"
    for module in (*_MODULES, "torch.cuda.streams", "torch")
    for name in ("Stream", "Event", "ExternalStream", "current_stream", "default_stream")
)
# the wait is what a clock needs, or what makes a copy to the host complete
_WANTS_IT = lazy(any_of("wants-to-wait").encode())
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_WAITS, _NEAR = b"synchronize(", 8  # statements between a wait and what reads, at most
# calls whose answers are numbers of the host, and methods that give the device work
_NUMBERS = CLOCKS | {"time", "len", "float", "item"}
_WORKS = frozenset({"backward", "step", "forward", "zero_grad", "record"})
# `timestep_update` measures nothing, nor does `static_part`
_WAITS_BY_NAME = lazy(
    r"(?i:sync|wait|offload|prefetch|preload|capture|warm_?up)|(?:^|_)(?:time[drs]?|timeit|timing|tic|toc)(?:_|$)|Tim(?:er|ing|ed)"
)


def is_superfluous(scene: Scene, link: Link) -> bool:
    """`link` is of what is called."""
    function = scene.function(link)
    if scene.file.tested or function is None or not _is_of_device(scene, link):
        return False
    owner = scene.owner(link)
    if any(_WAITS_BY_NAME.search(name) for name in (function[0].name, owner.name if owner is not None else "")):
        return False
    return not scene.file.source.says(_WANTS_IT, function[0])


def _is_of_device(scene: Scene, link: Link) -> bool:
    if scene.names.resolve(link[0], link) in FUNCTIONS:
        return True
    return link[0].__class__ is ast.Attribute and _is_made(scene, link[0].value, link)


def _is_made(scene: Scene, node: Node, link: Link) -> bool:
    """A stream or an event: made where it is asked, or wherever the name, or the member, is set."""
    if node.__class__ is ast.Call:
        return scene.names.resolve(node.func, link) in _MAKERS
    values: list[Node] = []
    if node.__class__ is ast.Name:
        values = list(values_of(scene.names, node, link))
    elif node.__class__ is ast.Attribute and (owner := scene.owner(link)) is not None:
        if getattr(node.value, "id", "") == "self":
            values = list(scene.file.receivers.members(owner).get(node.attr, ()))
    return bool(values) and all(v.__class__ is ast.Call and _is_made(scene, v, link) for v in values)


def told(call: cst.Call, why: str, values: tuple[tuple[str, str], ...], scene: Scene, link: Link) -> Hit:
    """What is told of a wait; where the device was waited for right above, only that."""
    if line := _waited_above(scene, link):
        return Hit(call, "waited", values=(*values[:1], ("line", str(line))))
    if line := _drained_below(scene, link):
        return Hit(call, "drained", values=(*values[:1], ("line", str(line))))
    return Hit(call, why, values=values)


def _waited_above(scene: Scene, link: Link) -> int:
    """The line of a wait for the whole device that stands above a read in the same round and is there to stay, with no work for the
    device in between; 0 for none. `link`: of what is called."""
    if not scene.file.source.says(_WAITS):
        return 0
    read = {n.id for n in walk(link[1][0]) if n.__class__ is ast.Name}
    child = link[0]
    for around in ancestors(link):
        field, index = place(around[0], child) if isinstance(child, ast.stmt) else ("", 0)
        for above in reversed(getattr(around[0], field)[max(0, index - _NEAR) : index] if field in BODIES else ()):
            if (called := _wait(scene, above)) is not None:
                return 0 if is_superfluous(scene, called) else int(above.lineno)
            if not _is_idle(above, read):
                return 0
        if around[0].__class__ in LOOPS or around[0].__class__ in _DEFS:
            return 0
        child = around[0]
    return 0


def _drained_below(scene: Scene, link: Link) -> int:
    """The line of such a wait below a read, in the same round of a training loop, where the work of the round stands above the read; 0
    for none."""
    if not scene.file.source.says(_WAITS):
        return 0
    child = link[0]
    for around in ancestors(link):
        if isinstance(child, ast.stmt) and around[0].__class__ in LOOPS:
            field, index = place(around[0], child)
            body = getattr(around[0], field)
            if field != "body" or not any(map(_works, body[:index])):
                return 0
            for below in body[index + 1 :]:
                if (called := _wait(scene, below)) is not None:
                    return 0 if is_superfluous(scene, called) else int(below.lineno)
                if _works(below):
                    return 0
            return 0
        if around[0].__class__ in _DEFS:
            return 0
        child = around[0]
    return 0


def _works(statement: Node) -> bool:
    return any(n.__class__ is ast.Call and call_name(n.func) in _WORKS for n in walk(statement))


def _wait(scene: Scene, statement: Node) -> Link | None:
    """What a statement calls, if that waits for the whole device: `torch.cuda.synchronize()`."""
    call: Node = statement.value if statement.__class__ is ast.Expr else None
    if call.__class__ is not ast.Call or call_name(call.func) != "synchronize":
        return None
    link = scene.link_to(call.func)
    return link if link is not None and scene.names.resolve(link[0], link) in FUNCTIONS else None


def _is_idle(statement: Node, read: set[str]) -> bool:
    """Whether a statement gives the device no work, as far as its form says, and sets none of these names: `clock.update(time.time())`,
    `seconds = start.elapsed_time(stop)`, `self.ready = True`."""
    if statement.__class__ not in (ast.Expr, ast.Assign, ast.AugAssign):
        return False
    nodes = walk(statement)
    calls = [call_name(n.func) for n in nodes if n.__class__ is ast.Call]
    set_here = {n.id for n in nodes if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
    answers = statement.__class__ is not ast.Expr
    return read.isdisjoint(set_here) and all(c in _NUMBERS or not answers and c not in _WORKS for c in calls)
