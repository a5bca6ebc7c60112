"""Finds masks that are drawn or made on the host, which so knows how many places they select: `torch.rand(size) > 0.5`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.index import Link, Node
from porter.training.value_uses import FACTORIES, is_on_host

if TYPE_CHECKING:
    from porter.training.scene import Scene

_MOVES = frozenset({"to", "cuda", "npu", "type_as"})


def selects_on_host(index: Node, scene: Scene, link: Link) -> bool:
    """Whether all masks of an index are tensors of the host."""
    parts = [p for p in getattr(index, "elts", [index]) if not isinstance(p, (ast.Slice, ast.Constant))]
    return bool(parts) and all(is_on_host(scene, part, link) or _is_made(part, scene, link) for part in parts)


def _is_made(node: Node, scene: Scene, link: Link) -> bool:
    """Whether a tensor follows from one that is made on the host. What it meets on the way lies there too, or is a number."""
    kind = node.__class__
    if kind is ast.Name:
        values = [*values_of(scene.names, node, link)]
        return bool(values) and all(
            value.__class__ is not ast.Name and _is_made(value, scene, link) for value in values
        )
    if kind is ast.BinOp:
        return _is_made(node.left, scene, link) or _is_made(node.right, scene, link)
    if kind is ast.Compare or kind is ast.UnaryOp:
        return _is_made(node.left if kind is ast.Compare else node.operand, scene, link)
    if kind is not ast.Call:
        return False
    full = scene.names.resolve(node.func, link)
    if full is not None:
        if b"set_default_" in scene.file.source.utf8:  # of the device that makes all tensors
            return False
        return full in FACTORIES and {k.arg for k in node.keywords}.isdisjoint({"device", "out", None})
    return (
        isinstance(node.func, ast.Attribute) and node.func.attr not in _MOVES and _is_made(node.func.value, scene, link)
    )
