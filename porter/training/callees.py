"""Finds the function of a call: a function or method of this file, or the full name of one in another file.

`callers.py` asks it of the calls of one file, `analysis/calls.py` for the way into other files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from porter.python.assigned import values_of
from porter.python.blocks import once
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext

# methods that return their object; functions that wrap a module
_MOVED = frozenset("to cuda npu cpu eval train half float bfloat16 double requires_grad_".split())
_WRAPPED = frozenset("DistributedDataParallel DDP DataParallel FullyShardedDataParallel FSDP compile".split())
_CALLING = frozenset(
    "checkpoint checkpoint_sequential map starmap vmap multi_apply".split()
)  # they call their first argument
_DEEPEST = 4  # wrappers around an object that are looked through


class Callee(NamedTuple):
    """The function or method that is called."""

    name: str  # of the function or method; "__call__" if an object itself is called
    owner: ast.ClassDef | str | None = None  # of a method: its class in this file, or the full name of it
    full: str = ""  # the full name of an imported function
    on_self: bool = False  # a method of `self`, which base classes and derived classes may define as well


def called(call: ast.Call) -> Iterator[Node]:
    """The expressions that a call calls: its function, and the `f` of `checkpoint(f, x)`, `map(f, xs)` and the like."""
    yield call.func
    if call_name(call.func) in _CALLING:
        yield from (a for a in call.args[:1] if a.__class__ in (ast.Name, ast.Attribute))


def callee(scene: AnyContext, func: Node, link: Link) -> Callee | None:
    """The function behind `func`, an expression that `called` gives for the call at `link`; None where it is not known."""
    if func.__class__ is ast.Name:
        if full := scene.names.resolve(func, link):
            return Callee(full.rpartition(".")[2], None, full)
        owner = _made(func, scene, link)
        return Callee("__call__", owner) if owner is not None else Callee(func.id)
    if func.__class__ is not ast.Attribute:
        return None
    if full := scene.names.resolve(func, link):
        return Callee(func.attr, None, full)
    if getattr(func.value, "id", "") == "self":
        around = _class(link)
        if around is None:
            return None
        owner = _made(func, scene, link)
        return Callee(func.attr, around, on_self=True) if owner is None else Callee("__call__", owner)
    if func.value.__class__ is ast.Call and call_name(func.value.func) == "super":
        around = _class(link)
        return Callee(func.attr, around, on_self=True) if around is not None else None
    owner = _made(func.value, scene, link)
    return Callee(func.attr, owner) if owner is not None else None


def _class(link: Link) -> ast.ClassDef | None:
    return next((a[0] for a in ancestors(link) if a[0].__class__ is ast.ClassDef), None)


def _made(node: Node, scene: AnyContext, link: Link) -> ast.ClassDef | str | None:
    """The class of the object in a name or in `self.name`, if all its values are objects of the same class."""
    values: Sequence[Node]
    if node.__class__ is ast.Name:
        values = values_of(scene.names, node, link)
    elif node.__class__ is ast.Attribute and getattr(node.value, "id", "") == "self":
        owner = _class(link)
        values = scene.file.receivers.members(owner).get(node.attr, []) if owner is not None else []
    else:
        return _class_of(node, scene, link)
    question = "class", scene.names.scopes.around(link) if values else None
    return scene.names.once(question, values, lambda: _shared_class(values, scene, link))


def _shared_class(values: Iterable[Node], scene: AnyContext, link: Link) -> ast.ClassDef | str | None:
    classes = {_class_of(value, scene, link) for value in values if not _is_none(value)}
    return classes.pop() if len(classes) == 1 else None


def _class_of(node: Node, scene: AnyContext, link: Link, depth: int = 0) -> ast.ClassDef | str | None:
    """The class of the object that an expression makes: a class of this file, or a full name."""
    if node.__class__ is not ast.Call or depth > _DEEPEST:
        return None
    func, name = node.func, call_name(node.func)
    if name in _MOVED and func.__class__ is ast.Attribute:
        return _class_of(func.value, scene, link, depth + 1)
    if name in _WRAPPED and node.args:
        return _class_of(node.args[0], scene, link, depth + 1)
    if func.__class__ is ast.Name and name in scene.classes:
        return scene.classes[name]
    full = scene.names.resolve(func, link)
    return full if full and not full.startswith("torch.") else None


def _is_none(node: Node) -> bool:
    return node.__class__ is ast.Constant and node.value is None


@once
def first_calls(around: Node) -> dict[str, Node]:
    """By the last word of a function, the expression that is called in the first call of it."""
    functions = [n.func for n in walk(around) if n.__class__ is ast.Call]
    functions_by_name: dict[str, Node] = {}
    for function in sorted(functions, key=lambda f: (f.end_lineno, f.end_col_offset)):
        functions_by_name.setdefault(call_name(function), function)
    return functions_by_name
