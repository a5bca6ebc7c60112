"""Finds the classes of a file that define `cuda()` or `is_cuda` themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from porter.python.walks import walk


def classes(tree: ast.Module | None, member: str) -> Iterable[str]:
    """The names of classes that define a method of this name, or, for `is_cuda`, set an attribute of this name."""
    for node in walk(tree) if tree else ():
        if isinstance(node, ast.ClassDef) and (_defines(node, member) or member == "is_cuda" and _sets(node, member)):
            yield node.name


def _defines(node: ast.ClassDef, member: str) -> bool:
    return any(isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)) and s.name == member for s in node.body)


def _sets(node: ast.ClassDef, member: str) -> bool:
    for inner in walk(node):
        if isinstance(getattr(inner, "ctx", None), ast.Store):
            if isinstance(inner, ast.Attribute) and inner.attr == member and getattr(inner.value, "id", "") == "self":
                return True
            if isinstance(inner, ast.Name) and inner.id == member and any(inner in _targets(s) for s in node.body):
                return True
    return False


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) else []
