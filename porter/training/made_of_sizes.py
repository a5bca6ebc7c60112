"""Finds tensors on the device that hold nothing but a number of the host: `torch.tensor(x.shape[1]).to(device)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import Link, Node
from porter.regex import lazy
from porter.training.value_uses import MOVES

if TYPE_CHECKING:
    from porter.training.scene import Scene

_MAKES = lazy(rb"tensor\(")
_MAKERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.scalar_tensor"})
_SIZES = frozenset({"size", "dim", "numel"})
_SAME = MOVES | {"long", "int", "float"}


def number_read(scene: Scene, link: Link) -> str:
    """The number that a tensor is made of whose value is read back: `x.shape[1]`; "" where it may be another one. `link`: of the
    function that reads it."""
    value: Node = link[0].value
    if not scene.file.source.says(_MAKES):
        return ""
    made = values_of(scene.names, value, link) if value.__class__ is ast.Name else [value]
    numbers = {number for v in made if (number := _number(scene, v, link))}
    return ast.unparse(numbers.pop()) if len(numbers) == 1 == len(made) else ""


def _number(scene: Scene, node: Node, link: Link) -> Node:
    while node.__class__ is ast.Call and node.func.__class__ is ast.Attribute and node.func.attr in _SAME:
        node = node.func.value
    if node.__class__ is not ast.Call or not node.args or scene.names.resolve(node.func, link) not in _MAKERS:
        return None
    return node.args[0] if _is_size(node.args[0]) else None


def _is_size(node: Node) -> bool:
    """`x.shape[1]`, `x.size(1)`, `len(x)`"""
    if node.__class__ is ast.Subscript:
        return node.value.__class__ is ast.Attribute and node.value.attr == "shape"
    if node.__class__ is not ast.Call:
        return False
    if node.func.__class__ is ast.Name:
        return bool(node.func.id == "len")
    return call_name(node.func) in _SIZES and (bool(node.args) or call_name(node.func) != "size")
