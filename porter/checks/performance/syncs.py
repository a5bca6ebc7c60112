"""Where the host waits for a value of the device without saying so, and what the value is wanted for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.engine.rule import TOGETHER
from porter.engine.together import ALSO
from porter.finding import Change
from porter.python.blocks import BODIES, place
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.regex import lazy
from porter.training import host_values, kinds, read_again, value_uses, waits_in_a_row
from porter.training.loops import loops_around
from porter.training.placement import DEVICE

if TYPE_CHECKING:
    from porter.training.scene import Scene

_LOGS = lazy(r"^(?:set_postfix|set_description|add_scalar|log(?:_|$)|print|info$|write$)")
_OF_A_BATCH = lazy(r"^_?(?:train(?:ing)?_(?:one_)?|run_)(?:step|batch|iter(?:ation)?)$")
_KEEPS = frozenset({"append", "update", "add", "extend"})
_TEXTS = frozenset({"round", "float", "str", "format", "int", "dict", "OrderedDict", "abs"})
_READ = (ast.Call, ast.BinOp, ast.Subscript, ast.Attribute)  # a bare name may be anything
_PLAIN = (ast.Assign, ast.AugAssign, ast.Expr)


def number(scene: Scene, link: Link) -> bool:
    """Whether `float(...)`, `int(...)` or `bool(...)` reads what was computed on the device."""
    call = link[1][0]
    if len(call.args) != 1 or call.keywords or call.args[0].__class__ not in _READ:
        return False
    return scene.natures.of(call.args[0], link) == DEVICE and not host_values.stays(scene, call.args[0], link)


def extreme(scene: Scene, link: Link) -> str:
    """How Python's own max() or min() waits: "compared" where a tensor is one of several values, "iterated" where it is asked
    for the largest of its elements; "" where it does not."""
    call = link[1][0]
    if any(a.__class__ is ast.Starred for a in call.args) or any(k.arg != "default" for k in call.keywords):
        return ""
    if not any(scene.natures.of(a, link) == DEVICE and not host_values.stays(scene, a, link) for a in call.args):
        return ""
    return "compared" if len(call.args) > 1 else "iterated"


def in_a_row(link: Link, why: str) -> tuple[tuple[str, str], ...]:
    """For `Hit.values`: the row of waits that a wait, or the first of the same value, belongs to."""
    statement = read_again.first_statement(link[1])
    return ((TOGETHER, f"{why} {waits_in_a_row.first_line(statement)}"),) if statement is not None else ()


def right_below(scene: Scene, link: Link) -> tuple[tuple[str, str], ...]:
    """For `Hit.values`: the lines of the statements right below that read other values of the device. They find the queue
    empty, and would be the first to wait once this one does not."""
    statement = next((above for above in ancestors(link) if isinstance(above[0], ast.stmt)), None)
    if statement is None or statement[1] is None or statement[0].__class__ not in _PLAIN:
        return ()
    field, index = place(statement[1][0], statement[0])
    lines = []
    for below in getattr(statement[1][0], field)[index + 1 :] if field in BODIES else ():
        func = value_uses.first_wait(below) if below.__class__ in _PLAIN else None
        read = None if func is None else scene.link_to(func)
        if read is None:
            break
        if not _is_no_wait(scene, read):
            lines.append(str(read[0].end_lineno))
        if _can_be_kept(scene, read):
            break
    return ((ALSO, ", ".join(lines)),) if lines else ()


def _is_no_wait(scene: Scene, link: Link) -> bool:
    """Whether what is read lies on the host, or has to be read."""
    return (
        value_uses.lies_on_host(link)
        or kinds.settled(link)
        or value_uses.made_on_host(scene, link)
        or host_values.stays(scene, link[0].value, link)
        or value_uses.is_wanted_there(link)
        or link[0].attr == "cpu"
        and value_uses.is_passed_on(link)
    )


def is_answer(scene: Scene, link: Link) -> bool:
    """`return loss.item()` of a function that takes one step, `return x.detach().cpu().numpy()` of a `forward` that gives
    nothing else, so that nothing learns from it: how often it runs, its callers know, unless its name says so."""
    function = scene.function(link)
    returned = any(a[0].__class__ is ast.Return for a in ancestors(link))
    if not returned or function is None or _OF_A_BATCH.search(function[0].name):
        return False
    return function[0] in scene.steps or value_uses.gives_arrays(function[0])


def check(link: Link) -> str:
    """Which check a value is read for: "assertion" of `assert x.max().item() < 1`, "raising" of a condition that only leads
    to an error, "" for none."""
    child = link[0]
    for above, _ in ancestors(link):
        if (kind := kind_of_check(above)) and (kind == "assertion" or above.test is child):
            return kind
        child = above
    return ""


def kind_of_check(node: Node) -> str:
    """`assert not bad.any()`, `if bad.any(): raise ValueError(...)`"""
    if node.__class__ is ast.If:
        raises = not node.orelse and all(statement.__class__ is ast.Raise for statement in node.body)
        return "raising" if raises else ""
    return "assertion" if node.__class__ is ast.Assert else ""


def takes_loss(scene: Scene, link: Link) -> bool:
    """Whether a function is called with a tensor of which the step takes gradients."""
    losses = scene.losses(link) - {"self"}
    return bool(losses) and value_uses.hands_on(link[1][0], losses)


def shows_loss(scene: Scene, link: Link) -> bool:
    """Whether a progress bar or a writer of summaries is handed the loss itself, which it reads."""
    call, losses = link[1][0], scene.losses(link) - {"self"}
    values = [*call.args, *(k.value for k in call.keywords)]
    values += [v for given in values if given.__class__ is ast.Dict for v in given.values]
    return bool(losses) and any(value_uses.bare(v, losses) or scene.natures.of(v, link) == DEVICE for v in values)


def purpose(scene: Scene, link: Link) -> str:
    """What a value that is read back is wanted for: "logged", "summed", or "" for anything else."""
    child = link[1][0]
    for above in ancestors(link[1]):
        node = above[0]
        if node.__class__ is ast.AugAssign:
            if node.op.__class__ is not ast.Add or child is not node.value:
                return ""
            return "logged" if child.__class__ is ast.JoinedStr else "summed"
        if node.__class__ is ast.Call and child is not node.func:
            name = call_name(node.func)
            if _LOGS.search(name):
                return "logged"
            if name in _KEEPS:
                return "summed"
            if name not in _TEXTS:
                return ""
        elif node.__class__ is ast.Assign:
            return _logged_by_name(scene, node, above)
        elif isinstance(node, ast.stmt) or node.__class__ in FUNCTIONS or node.__class__ is ast.Subscript:
            return ""
        child = node
    return ""


def _logged_by_name(scene: Scene, node: ast.Assign, link: Link) -> str:
    """`logs = {"loss": loss.item()}` that only a log, or a progress bar, is handed."""
    target: Node = node.targets[0]
    if len(node.targets) != 1 or target.__class__ is not ast.Name:
        return ""
    uses = scene.names.readers(target.id, (target, link))
    logged = scene.names.once("logged", uses, lambda: all(_LOGS.search(_taker(use)) for use in uses))
    return "logged" if uses and logged else ""


def _taker(link: Link) -> str:
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.Call and child is not node.func and (name := call_name(node.func)) not in _TEXTS:
            return name
        if isinstance(node, ast.stmt):
            return ""
        child = node
    return ""


def first_wait(scene: Scene, link: Link) -> bool:
    """Whether nothing in the same statement, or the one right above, waits for the device before. A sum that can be kept
    on the device is no wait: once it is, the next line would be the first."""
    statement = next((above for above in ancestors(link) if isinstance(above[0], ast.stmt)), None)
    if statement is None:
        return True
    if value_uses.first_wait(statement[0]) is not link[0]:
        return False
    before = value_uses.wait_above(statement)
    return before is None or _can_be_kept(scene, scene.link_to(before))


def _can_be_kept(scene: Scene, link: Link | None) -> bool:
    if link is None or link[0].attr != "item" or purpose(scene, link) != "summed":
        return False
    return read_after_loop(scene, link) is not None


def read_after_loop(scene: Scene, link: Link) -> Change | None:
    """Of `total += loss.item()` in a loop that reads `total` nowhere: what reads the sum behind the loop."""
    statement: Any = link[1][1]  # a Link: mypy falls over where two of them are compared
    if statement[0].__class__ is ast.BinOp:  # weighed by the size of the batch
        statement = statement[1]
    loop: Node = next(iter(loops_around(link)), None)
    function = scene.function(link)
    if loop.__class__ is not ast.For or function is None or not _is_of_the_step(scene, link):
        return None
    if statement[0].__class__ is not ast.AugAssign or statement[0].target.__class__ is not ast.Name:
        return None
    name = statement[0].target.id
    for binding in scene.names.bindings(name, statement):
        if binding[1] is not statement and not (_begins(binding) and _apart(binding, scene, function, loop)):
            return None
    uses = scene.names.readers(name, (statement[0].target, statement))
    if not uses or not all(_apart(use, scene, function, loop) for use in uses):
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
