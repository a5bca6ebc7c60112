"""Where the host waits for a value of the device without saying so, and what the value is wanted for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.engine.rule import TOGETHER
from porter.python.assigned import set_in_block
from porter.python.blocks import once, once_for_file
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.regex import lazy
from porter.training import host_values, read_again, value_uses, waits_in_a_row
from porter.training.placement import DEVICE

if TYPE_CHECKING:
    from porter.training.protocols import File
    from porter.training.scene import Scene

_LOGS = lazy(r"^(?:set_postfix|set_description|add_scalar|log(?:_|$)|print|info$|write$)")
_OF_A_BATCH = lazy(r"^_?(?:train(?:ing)?_(?:one_)?|run_)(?:step|batch|iter(?:ation)?)$")
_KEEPS = frozenset({"append", "update", "add", "extend"})
_TEXTS = frozenset({"round", "float", "str", "format", "int", "dict", "OrderedDict", "abs"})
_READ = (ast.Call, ast.BinOp, ast.Subscript, ast.Attribute)  # a bare name may be anything


def number(scene: Scene, link: Link) -> bool:
    """Whether `float(...)`, `int(...)` or `bool(...)` reads what was computed on the device."""
    call = link[1][0]
    if len(call.args) != 1 or call.keywords or call.args[0].__class__ not in _READ:
        return False
    return scene.natures.of(call.args[0], link) == DEVICE and not host_values.stays(scene, call.args[0], link)


def extreme(scene: Scene, link: Link) -> str:
    """How Python's own max() or min() waits: "compared" where a tensor is one of several values, "iterated" where it is asked
    for the largest of its elements; "" where it does not, and where the answer is a size, which the host needs."""
    call = link[1][0]
    if any(a.__class__ is ast.Starred for a in call.args) or any(k.arg != "default" for k in call.keywords):
        return ""
    if not any(scene.natures.of(a, link) == DEVICE and not host_values.stays(scene, a, link) for a in call.args):
        return ""
    if len(call.args) > 1:
        return "" if value_uses.is_size(scene.names, link) else "compared"
    return "iterated"


def in_a_row(link: Link, why: str) -> tuple[tuple[str, str], ...]:
    """For `Hit.values`: the row of waits that a wait, or the first of the same value, belongs to."""
    statement = read_again.first_statement(link[1])
    return ((TOGETHER, f"{why} {waits_in_a_row.first_line(statement)}"),) if statement is not None else ()


def is_answer(scene: Scene, link: Link) -> bool:
    """`return loss.item()` of a function that takes one step, `return x.detach().cpu().numpy()` of a `forward` that gives
    nothing else, so that nothing learns from it: how often it runs, its callers know, unless its name says so, or the file itself
    calls it for each batch."""
    function = scene.function(link)
    returned = any(a[0].__class__ is ast.Return for a in ancestors(link))
    if not returned or function is None or _OF_A_BATCH.search(function[0].name):
        return False
    if function[0] in scene.steps:
        return function[0].name not in _of_each(scene.file)
    return value_uses.gives_arrays(function[0])


@once_for_file
def _of_each(file: File) -> frozenset[str]:
    """The functions that a loop of the file calls with what it goes over: `for x in loader: self.observe(x)`."""
    found = set[str]()
    for loop, _ in file.buckets[ast.For]:
        each = {n.id for n in walk(loop.target) if n.__class__ is ast.Name}
        for call in (n for statement in loop.body for n in walk(statement) if n.__class__ is ast.Call):
            if any(getattr(arg, "id", "") in each for arg in call.args):
                found.add(call_name(call.func))
    return frozenset(found)


def takes_loss(scene: Scene, link: Link) -> bool:
    """Whether a function is called with a tensor of which the step takes gradients."""
    losses = _losses(scene, link)
    return bool(losses) and value_uses.hands_on(link[1][0], losses)


def shows_loss(scene: Scene, link: Link) -> bool:
    """Whether a progress bar or a writer of summaries is handed the loss itself, or another tensor, which it reads."""
    call, losses = link[1][0], _losses(scene, link)
    read = scene.losses(link) - losses - {"self"}
    values = [*call.args, *(k.value for k in call.keywords)]
    values += [v for given in values if given.__class__ is ast.Dict for v in given.values]
    there = (v for v in values if not value_uses.bare(v, read) and scene.natures.of(v, link) == DEVICE)
    return any(losses and value_uses.bare(v, losses) for v in values) or any(there)


def _losses(scene: Scene, link: Link) -> set[str]:
    """The losses around a call, without those that were read before: `loss = loss.item()`, `loss = loss.data[0]`."""
    losses = scene.losses(link) - {"self"}
    names = [n for n in walk(link[1][0]) if n.__class__ is ast.Name and n.id in losses] if losses else []
    return losses - {n.id for n in names if any(map(_reads, set_in_block(scene.names, n, link)))}


def _reads(value: Node) -> bool:
    """Whether a value is a number that was read of a loss, which is a single value."""
    if value.__class__ is ast.Call:
        return getattr(value.func, "attr", "") == "item" or getattr(value.func, "id", "") == "float"
    return (
        value.__class__ is ast.Subscript and constant(value.slice) == 0 and getattr(value.value, "attr", "") == "data"
    )


def purpose(scene: Scene, link: Link) -> str:
    """What a value that is read back is wanted for: "logged", "summed", or "" for anything else."""
    child = link[1][0]
    for above in ancestors(link[1]):
        node = above[0]
        if node.__class__ is ast.AugAssign:
            if node.op.__class__ is not ast.Add or child is not node.value:
                return ""
            return "logged" if child.__class__ is ast.JoinedStr or _shows_sum(node, above) else "summed"
        if node.__class__ is ast.Call and child is not node.func:
            name = call_name(node.func)
            if _LOGS.search(name):
                return "logged"
            if name in _KEEPS:
                return "" if _is_read_between(scene, node, above) else "summed"
            if name not in _TEXTS:
                return ""
        elif node.__class__ is ast.Assign:
            return _logged_by_name(scene, node, above)
        elif isinstance(node, ast.stmt) or node.__class__ in FUNCTIONS or node.__class__ is ast.Subscript:
            return ""
        child = node
    return ""


def _shows_sum(added: ast.AugAssign, link: Link) -> bool:
    """Whether the loop shows the sum in each step: `bar.set_postfix(loss=total / n)`."""
    loop = next((up[0] for up in ancestors(link) if up[0].__class__ in (ast.For, ast.While)), None)
    calls = (s.value for s in (loop.body if loop is not None else ()) if s.__class__ is ast.Expr)
    shown = [call for call in calls if call.__class__ is ast.Call and _LOGS.search(call_name(call.func))]
    text, kind = (ast.unparse(added.target), added.target.__class__) if shown else ("", None)
    return any(n.__class__ is kind and ast.unparse(n) == text for call in shown for n in walk(call))


def _is_read_between(scene: Scene, call: ast.Call, link: Link) -> bool:
    """Whether a list is read where it grows, as a buffer of samples is: `kept.append(x.cpu())` beside `kept[n].to(device)`."""
    kept: Node = getattr(call.func, "value", None)
    function = scene.function(link)
    if function is None or kept.__class__ is not ast.Name:
        return False
    return kept.id in _read_by_name(function[0])


@once
def _read_by_name(function: Node) -> frozenset[str]:
    """The names of which a function reads a part by a name: `kept[n]`."""
    parts = (n for n in walk(function) if n.__class__ is ast.Subscript and n.ctx.__class__ is ast.Load)
    return frozenset(getattr(part.value, "id", "") for part in parts if part.slice.__class__ is ast.Name)


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
