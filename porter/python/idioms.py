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


def _is_infinity(node: ast.expr) -> bool:
    return any(
        n.__class__ is ast.Attribute and n.attr in ("inf", "min") or constant(n) in ("-inf", "inf")
        or type(constant(n)) is float and constant(n) >= 1e4 for n in ast.walk(node)
    )  # fmt: skip
