"""Finds masks that are made of sizes alone: `~torch.eye(n, dtype=torch.bool)`. As many of their places are true in every batch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.training.scene import Scene

# functions of torch whose result follows from numbers
_MAKES = frozenset("arange eye ones zeros full linspace range tril_indices triu_indices".split())
# functions and methods whose result follows from their tensors
_KEEPS = frozenset(
    """to bool float long int half double type cuda npu cpu view reshape unsqueeze squeeze t transpose permute flatten repeat expand
    contiguous clone detach logical_not logical_and logical_or logical_xor eq ne gt lt ge le triu tril cat concat stack roll flip
    fill_diagonal_""".split()
)
_OF_TWO = frozenset("logical_and logical_or logical_xor eq ne gt lt ge le".split())


def is_fixed(node: Node, scene: Scene, link: Link, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a tensor follows from sizes and numbers. `seen`: names that are followed already."""
    kind = node.__class__
    if kind is ast.Name:
        values = [] if node.id in seen else values_of(scene.names, node, link)
        return node.id in seen or bool(values) and all(is_fixed(v, scene, link, seen | {node.id}) for v in values)
    if kind is ast.Call:
        return _is_fixed_call(node, scene, link, seen)
    if kind is ast.Compare:
        return _are_fixed((node.left, *node.comparators), scene, link, seen)
    if kind is ast.BinOp:
        return _are_fixed((node.left, node.right), scene, link, seen)
    if kind is ast.UnaryOp:
        return is_fixed(node.operand, scene, link, seen)
    if kind is ast.Subscript:
        return _are_fixed((node.value, node.slice), scene, link, seen)
    return kind is ast.Attribute and node.attr in ("T", "mT") and is_fixed(node.value, scene, link, seen)


def _are_fixed(nodes: tuple[Node, ...], scene: Scene, link: Link, seen: frozenset[str]) -> bool:
    """Numbers are, beside a tensor that is."""
    tensors = [n for n in nodes if n.__class__ not in (ast.Constant, ast.Slice)]
    return bool(tensors) and all(is_fixed(n, scene, link, seen) for n in tensors)


def _is_fixed_call(call: ast.Call, scene: Scene, link: Link, seen: frozenset[str]) -> bool:
    name, full = call_name(call.func), scene.names.resolve(call.func, link)
    if full == f"torch.{name}":
        if name in _MAKES:
            return True
        listed = call.args[0] if name in ("cat", "concat", "stack") and call.args else None
        if isinstance(listed, (ast.List, ast.Tuple)):
            return _are_fixed(tuple(listed.elts), scene, link, seen)
        if isinstance(listed, (ast.ListComp, ast.GeneratorExp)):
            return is_fixed(listed.elt, scene, link, seen)
        return name in _KEEPS and bool(call.args) and _takes_fixed(name, call.args, scene, link, seen)
    receiver = getattr(call.func, "value", None)
    if full is not None or name not in _KEEPS or receiver is None:
        return False
    return _takes_fixed(name, [receiver, *call.args], scene, link, seen)


def _takes_fixed(name: str, given: list[ast.expr], scene: Scene, link: Link, seen: frozenset[str]) -> bool:
    """Of a function, its first argument; of one of two tensors, both."""
    return _are_fixed(tuple(given if name in _OF_TWO else given[:1]), scene, link, seen)
