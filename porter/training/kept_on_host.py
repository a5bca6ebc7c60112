"""Finds where a class makes a value of `self` that its own `to` does not move: that moves parameters and buffers alone."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.index import Link, owner_of
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.training.protocols import File

# text of a class that moves what it keeps by names that are not written
_MOVES_ALL = lazy(rb"setattr\(|__dict__|vars\(|def (?:to|cuda|npu|_apply)\b")
_BASES = frozenset(
    {"torch.nn.Module", "torch.nn.modules.Module", "object"}
)  # another may have made a buffer of this name


def makers(file: File, owner: ast.ClassDef, name: str, values: list[ast.expr]) -> list[tuple[ast.expr, Link | None]]:
    """These values of an attribute, each with the method that sets it; nothing if something else may move or set the attribute."""
    if any(v.__class__ is not ast.Call for v in values) or file.source.says(_MOVES_ALL, owner):
        return []
    methods = [link for link in file.buckets[ast.FunctionDef] if owner_of(link) is owner]
    if not methods or any(file.names.resolve(base, methods[0]) not in _BASES for base in owner.bases):
        return []
    uses = (link for link in file.names.spelled(name) if link[0].__class__ is ast.Attribute)
    if any(u[0].ctx.__class__ is ast.Store and getattr(u[0].value, "id", "") != "self" for u in uses):
        return []
    return [(v, next((m for m in methods if m[0].lineno <= v.lineno <= m[0].end_lineno), None)) for v in values]
