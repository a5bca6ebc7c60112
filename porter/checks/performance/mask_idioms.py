"""Masks that are added to the scores of attention."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, walk

if TYPE_CHECKING:
    from porter.training.scene import Scene


def adds_infinity(node: Node, scene: Scene | None, link: Link | None, depth: int = 0) -> bool:
    """A mask made of zeros and minus infinity, to be added to the scores."""
    for inner in walk(node):
        if inner.__class__ is ast.Call and call_name(inner.func) in ("finfo", "masked_fill", "masked_fill_"):
            return call_name(inner.func) == "finfo" or any(_is_infinity(a) for a in inner.args)
        if inner.__class__ is ast.Call and call_name(inner.func) == "full" and any(_is_infinity(a) for a in inner.args):
            return True
        if inner.__class__ is ast.Call and call_name(inner.func) == "where" and len(inner.args) == 3:
            if any(_is_infinity(a) for a in inner.args[1:]) and any(constant(a) == 0 for a in inner.args[1:]):
                return True
    if node.__class__ is ast.Name and depth < 2 and scene is not None and link is not None:
        values = values_of(scene.names, node, link)
        question = "infinity", depth, scene.names.scopes.around(link) if values else None
        return scene.names.once(question, values, lambda: any(adds_infinity(v, scene, link, depth + 1) for v in values))
    return False


def only_masks(tree: ast.Module, name: str) -> bool:
    """Whether all that a file sets a name to is made of zeros and minus infinity, though it may be called a bias."""
    assigned, filled = _assigned(tree)
    values = [v for v in assigned.get(name, ()) if v.__class__ is not ast.Constant]
    return bool(values) and all(_is_blank(v, name in filled) for v in values)


@once
def _assigned(tree: ast.Module) -> tuple[dict[str, list[ast.expr]], set[str]]:
    """What names are set to, and those that are filled with infinity where a mask is."""
    assigned: dict[str, list[ast.expr]] = {}
    filled: set[str] = set()
    for node in walk(tree):
        if node.__class__ in (ast.Assign, ast.AugAssign):
            targets = node.targets if node.__class__ is ast.Assign else [node.target]
            for name in {getattr(target, "id", "") for target in targets}:
                assigned.setdefault(name, []).append(node.value if node.__class__ is ast.Assign else node.target)
        elif node.__class__ is ast.Call and call_name(node.func) == "masked_fill_":
            if any(map(_is_infinity, node.args)):
                filled.add(getattr(getattr(node.func, "value", node), "id", ""))
    return assigned, filled


def _is_blank(value: Node, filled: bool) -> bool:
    """`torch.zeros(...)` that is filled later, or `.masked_fill(m, -inf)` of it; `torch.where(m, 0, -inf)`."""
    fills = False
    while value.__class__ is ast.Subscript or value.__class__ is ast.Call and value.func.__class__ is ast.Attribute:
        if value.__class__ is ast.Subscript:
            value = value.value
            continue
        name = call_name(value.func)
        if name in ("zeros", "zeros_like", "new_zeros"):
            return fills or filled
        if name in ("full", "where") and adds_infinity(value, None, None, 2):
            return True
        fills |= name in ("masked_fill", "masked_fill_") and any(map(_is_infinity, value.args))
        value = value.func.value
    return False


def _is_infinity(node: Node) -> bool:
    return any(
        n.__class__ is ast.Attribute and n.attr in ("inf", "min") or constant(n) in ("-inf", "inf")
        or isinstance(value := constant(n), float) and value >= 1e4 for n in walk(node)
    )  # fmt: skip
