"""Whether a line of a function runs in every call of it, or only for some of what it is handed."""

from __future__ import annotations

import ast

from porter.python.index import Node, walk
from porter.python.parameters import parameters

_LEAVES = (ast.Return, ast.Continue, ast.Break)
_BLOCKS = ("body", "orelse", "handlers", "finalbody")


def depends_on_arguments(function: Node, line: int) -> bool:
    """Whether a condition on its parameters, or on what it makes of them, stands around a line, or leaves above it."""
    stored = {n.id for n in walk(function) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
    names = {*parameters(function), *stored} - {"self", "cls"}
    return _depends(function.body, line, names)


def _depends(block: list[Node], line: int, names: set[str]) -> bool:
    for statement in block:
        last: int = statement.end_lineno or statement.lineno
        if line > last:
            if statement.__class__ is ast.If and _may_leave(statement) and _asks(statement.test, names):
                return True
            continue
        if line < statement.lineno:
            return False
        if statement.__class__ is ast.If and line > (statement.test.end_lineno or 0) and _asks(statement.test, names):
            return True
        subject = getattr(statement, "subject", None)  # of `match`
        if subject is not None and line > subject.end_lineno and _asks(subject, names):
            return True
        inner = [part for field in _BLOCKS for part in getattr(statement, field, None) or ()]
        inner += [part for case in getattr(statement, "cases", ()) for part in case.body]
        return _depends(inner, line, names) if inner else _chooses(statement, line, names)
    return False


def _may_leave(statement: Node) -> bool:
    return any(inner.__class__ in _LEAVES for inner in walk(statement))


def _chooses(statement: Node, line: int, names: set[str]) -> bool:
    """`n if n > 0 else x.max().item()` over a line."""
    return any(
        inner.__class__ is ast.IfExp and inner.lineno <= line <= inner.end_lineno and _asks(inner.test, names)
        for inner in walk(statement)
    )


def _asks(test: Node, names: set[str]) -> bool:
    return any(inner.__class__ is ast.Name and inner.id in names for inner in walk(test))
