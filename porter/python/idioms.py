"""Masks that are added to the scores of attention."""

from __future__ import annotations

import ast

from .evidence import call_name, constant
from .index import Link


def adds_infinity(node: ast.expr, scene, link: Link, depth: int = 0) -> bool:
    """A mask made of zeros and minus infinity, to be added to the scores."""
    for inner in ast.walk(node):
        if inner.__class__ is ast.Call and call_name(inner.func) in ("finfo", "masked_fill", "masked_fill_"):
            return call_name(inner.func) == "finfo" or any(_is_infinity(a) for a in inner.args)
        if inner.__class__ is ast.Call and call_name(inner.func) == "full" and any(_is_infinity(a) for a in inner.args):
            return True
        if inner.__class__ is ast.Call and call_name(inner.func) == "where" and len(inner.args) == 3:
            if any(_is_infinity(a) for a in inner.args[1:]) and any(constant(a) == 0 for a in inner.args[1:]):
                return True
    if node.__class__ is ast.Name and depth < 2:
        return any(adds_infinity(v, scene, link, depth + 1) for v in scene.values(node, link))
    return False


def only_masks(tree: ast.Module, name: str) -> bool:
    """Whether all that a file sets a name to is made of zeros and minus infinity, though it may be called a bias."""
    made = [n.value for n in ast.walk(tree) if n.__class__ is ast.Assign and any(_is(t, name) for t in n.targets)]
    made += [n.target for n in ast.walk(tree) if n.__class__ is ast.AugAssign and _is(n.target, name)]
    made = [v for v in made if v.__class__ is not ast.Constant]
    fills = (n for n in ast.walk(tree) if n.__class__ is ast.Call and call_name(n.func) == "masked_fill_")
    filled = any(_is(getattr(n.func, "value", n), name) and any(map(_is_infinity, n.args)) for n in fills)
    return bool(made) and all(_is_blank(v, filled) for v in made)


def _is(node: ast.AST, name: str) -> bool:
    return getattr(node, "id", "") == name


def _is_blank(value: ast.expr, filled: bool) -> bool:
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


def _is_infinity(node: ast.expr) -> bool:
    return any(
        n.__class__ is ast.Attribute and n.attr in ("inf", "min") or constant(n) in ("-inf", "inf")
        or type(constant(n)) is float and constant(n) >= 1e4 for n in ast.walk(node)
    )  # fmt: skip
