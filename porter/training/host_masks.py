"""Finds masks that are drawn or made on the host, which so knows how many places they select: `torch.rand(size) > 0.5`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.index import Link, Node
from porter.training.value_uses import MOVES, is_factory, is_on_host

if TYPE_CHECKING:
    from porter.training.scene import Scene

# what meets an array of numpy lies on the host, or the program stops there
_ARRAYS = frozenset(f"numpy.{name}" for name in ("array", "asarray", "arange", "full", "linspace", "ones", "zeros"))


def selects_on_host(index: Node, scene: Scene, link: Link) -> bool:
    """Whether all masks of an index are tensors of the host."""
    parts = [p for p in getattr(index, "elts", [index]) if not isinstance(p, (ast.Slice, ast.Constant))]
    return bool(parts) and all(is_on_host(scene, part, link) or _is_made(part, scene, link, {}) for part in parts)


def _is_made(node: Node, scene: Scene, link: Link, known: dict[str, bool]) -> bool:
    """Whether a tensor follows from one that is made on the host. What it meets on the way lies there too, or is a number.
    `known`: the answers for names; `mask = ~mask` says nothing of where it lies."""
    kind = node.__class__
    if kind is ast.Name:
        if node.id not in known:
            known[node.id] = True
            values = values_of(scene.names, node, link)
            made = (value.__class__ is not ast.Name and _is_made(value, scene, link, known) for value in values)
            known[node.id] = bool(values) and all(made)
        return known[node.id]
    if kind is ast.BinOp:
        return _is_made(node.left, scene, link, known) or _is_made(node.right, scene, link, known)
    if kind is ast.Compare:
        arrays = (scene.names.resolve(getattr(n, "func", n), link) in _ARRAYS for n in node.comparators)
        return any(arrays) or _is_made(node.left, scene, link, known)
    if kind is ast.UnaryOp:
        return _is_made(node.operand, scene, link, known)
    if kind is not ast.Call:
        return False
    full = scene.names.resolve(node.func, link)
    if full is not None:  # set_default_device: the device that makes all tensors
        if full in _ARRAYS:
            return True
        return is_factory(full, node) and not scene.file.source.says(b"set_default_")
    method = node.func
    return method.__class__ is ast.Attribute and method.attr not in MOVES and _is_made(method.value, scene, link, known)
