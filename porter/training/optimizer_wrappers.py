"""Finds optimizers around another that never call `Optimizer.__init__`: since torch 2.0 `zero_grad` reads what that sets."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name
from porter.python.index import walk

# what makes `zero_grad` work all the same: its own, or attributes of the one inside
_MENDS = frozenset({"zero_grad", "__getattr__", "__getattribute__", "defaults"})


def is_unmade(owner: ast.ClassDef) -> bool:
    """Of a class whose only base is torch's Optimizer."""
    methods = {part.name: part for part in owner.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))}
    init = methods.get("__init__")
    if init is None or len(owner.bases) != 1 or not _MENDS.isdisjoint(methods):
        return False
    nodes = [*walk(init)]
    if any(node.__class__ is ast.Call and call_name(node.func) == "__init__" for node in nodes):
        return False
    given = {node.attr for node in nodes if node.__class__ is ast.Attribute and node.ctx.__class__ is ast.Store}
    return "param_groups" in given and _MENDS.isdisjoint(given)
