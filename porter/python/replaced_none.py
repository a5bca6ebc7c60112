"""`device = "cuda" if device is None else device`: a parameter that is None by default, and no longer below this."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors


def replaces_none(binding: Link, use: Link) -> bool:
    """Whether a binding above a use gives its name another value where it is None: as above, by `device = device or "cuda"`, or by
    `if device is None: device = "cuda"`."""
    up = binding[1]
    if up is None or not isinstance(up[0], ast.Assign) or not isinstance(binding[0], ast.Name):
        return False
    statement = _asking(up, binding[0].id) if not _chooses(up[0].value, binding[0].id) else up
    if statement is None or statement[1] is None or statement[0].lineno >= use[0].lineno:
        return False
    return any(above is statement[1][0] for above, _ in ancestors(use))


def _chooses(value: ast.expr, name: str) -> bool:
    """`"cuda" if name is None else name`, `name or "cuda"`."""
    if isinstance(value, ast.BoolOp):
        return isinstance(value.op, ast.Or) and _is(value.values[0], name) and _is_value(value.values[-1])
    return isinstance(value, ast.IfExp) and _is_unset(value.test, name) and _is_value(value.body)


def _asking(assignment: Link, name: str) -> Link | None:
    """The `if name is None:` without another way that an assignment of a value stands in."""
    up = assignment[1]
    if up is None or not isinstance(up[0], ast.If) or up[0].orelse or assignment[0] not in up[0].body:
        return None
    return up if _is_unset(up[0].test, name) and _is_value(assignment[0].value) else None


def _is_unset(test: Node, name: str) -> bool:
    """`name is None`."""
    if not isinstance(test, ast.Compare) or not _is(test.left, name) or len(test.ops) > 1:
        return False
    asked = test.comparators[0]
    return isinstance(test.ops[0], ast.Is) and isinstance(asked, ast.Constant) and asked.value is None


def _is(node: Node, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_value(node: Node) -> bool:
    """What is not None: a constant, or a device that is made."""
    return constant(node) is not None or isinstance(node, ast.Call) and call_name(node.func) == "device"
