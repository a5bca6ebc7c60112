"""Finds what a loop takes apart: the tensor whose rows its variable holds, one after the other."""

from __future__ import annotations

import ast

from porter.python.index import Node
from porter.values.value import Value


def taken_from(value: Value) -> Node | None:
    """`x` for the variable of `for row in x`, and of `for n, (row, _) in enumerate(zip(x, y))`; None for other values."""
    if value.node.__class__ is not ast.For or value.info.__class__ is not tuple:
        return None
    return _whole(value.node.target, value.node.iter, value.info[1])


def _whole(target: Node, several: Node, name: str) -> Node | None:
    """What gives its rows to a name of a target."""
    if target.__class__ is ast.Name:
        return several if target.id == name else None
    called = several.func.id if several.__class__ is ast.Call and several.func.__class__ is ast.Name else ""
    if target.__class__ is not ast.Tuple or called not in ("zip", "enumerate"):
        return None
    given = [None, *several.args[:1]] if called == "enumerate" else several.args
    if len(given) != len(target.elts) or any(isinstance(each, ast.Starred) for each in (*given, *target.elts)):
        return None
    wholes = (_whole(part, each, name) for part, each in zip(target.elts, given, strict=True) if each is not None)
    return next((whole for whole in wholes if whole is not None), None)
