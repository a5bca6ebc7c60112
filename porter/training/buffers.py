"""Finds state that is on the device like the weights of a module: buffers, and parameters that a loop goes through."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.blocks import once
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, walk

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext
    from porter.values.value import Value

_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})


@once
def registered(owner: ast.ClassDef) -> frozenset[str]:
    """The names of the buffers that a class registers itself."""
    own = (node for part in owner.body if not isinstance(part, ast.ClassDef) for node in walk(part))
    calls = (n for n in own if n.__class__ is ast.Call and _is_of_self(n.func) and n.func.attr == "register_buffer")
    named = (next(iter([*c.args[:1], *(k.value for k in c.keywords if k.arg == "name")]), None) for c in calls)
    return frozenset(str(name) for node in named if (name := constant(node)) is not None)


def _is_of_self(node: Node) -> bool:
    return node.__class__ is ast.Attribute and getattr(node.value, "id", "") == "self"


def is_buffer(scene: AnyContext, node: Node, link: Link) -> bool:
    """Whether a node is a buffer, or a number of one: `self.steps`, `self.settings[0]` in a class that registers it."""
    owner = scene.owner(link)
    if node.__class__ is ast.Subscript and type(constant(node.slice)) is int:
        node = node.value
    return owner is not None and _is_of_self(node) and node.attr in registered(owner)


def is_of_trainer(scene: AnyContext, node: Node, link: Link) -> bool:
    """Whether a node is a buffer of a trainer, which has accelerate move its model and its batches, and never moves itself."""
    owner = scene.owner(link)
    return owner is not None and is_buffer(scene, node, link) and _has_parts_moved(owner)


@once
def _has_parts_moved(owner: ast.ClassDef) -> bool:
    calls = [node.func for node in walk(owner) if node.__class__ is ast.Call]
    moving = (func for func in calls if call_name(func) in ("to", "cuda", "npu"))
    moves_itself = any(getattr(getattr(func, "value", None), "id", "") == "self" for func in moving)
    return not moves_itself and {"Accelerator", "prepare"} <= {call_name(func) for func in calls}


def is_parameter(value: Value) -> bool:
    """Whether an unknown value is what a loop over parameters gives: `for p in group["params"]`,
    `for name, p in model.named_parameters()`, `for p, q in zip(model.parameters(), ema.parameters())`."""
    return value.node.__class__ is ast.For and value.info[1] in _looped(value.node)


@once
def _looped(loop: ast.For) -> frozenset[str]:
    """The names that a loop gives to parameters."""
    return frozenset(_taken(loop.target, loop.iter))


def _taken(target: Node, given: Node) -> Iterator[str]:
    name = call_name(given.func) if given.__class__ is ast.Call else ""
    parts = getattr(target, "elts", [])
    if name == "zip" and len(parts) == len(given.args):
        for part, each in zip(parts, given.args):
            yield from _taken(part, each)
    elif name == "enumerate" and len(parts) == 2 and given.args:
        yield from _taken(parts[1], given.args[0])
    elif name == "named_parameters" and len(parts) == 2:
        yield getattr(parts[1], "id", "")
    elif name == "parameters" or given.__class__ is ast.Subscript and constant(given.slice) == "params":
        yield getattr(target, "id", "")


def is_of_module(scene: AnyContext, node: Node, link: Link) -> bool:
    """Whether an expression is made of a parameter or a buffer, which lies where its module was moved: `self.weight[0].abs()`."""
    while not _is_of_self(node) and node.__class__ in (ast.Subscript, ast.Call, ast.Attribute):
        node = node.func if node.__class__ is ast.Call else node.value
    owner = scene.owner(link) if _is_of_self(node) else None
    if owner is None:
        return False
    values = scene.file.receivers.members(owner).get(node.attr, ())
    made = {scene.names.resolve(v.func, link) if isinstance(v, ast.Call) else None for v in values}
    return node.attr in registered(owner) or bool(made) and made <= _PARAMETERS
