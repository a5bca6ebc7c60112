"""Says whether a line of a function runs in every call, or only with some arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.python.blocks import once
from porter.python.index import Node, walk
from porter.python.parameters import parameters

_LEAVES = (ast.Return, ast.Continue, ast.Break)
_BLOCKS = ("body", "orelse", "finalbody")


@once
def dependent_lines(function: Node) -> frozenset[int]:
    """The lines that run only in some calls: those inside of a condition on parameters or on names that the function binds, and
    those below such a condition with a branch that may leave. `callers.py` asks."""
    stored = {n.id for n in walk(function) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
    names = {*parameters(function), *stored} - {"self", "cls"}
    return frozenset(line for first, last in _spans(function.body, names) for line in range(first, last + 1))


def _spans(block: list[Node], names: set[str]) -> Iterator[tuple[int, int]]:
    """(first, last) of the ranges of such lines in a block."""
    for index, statement in enumerate(block):
        condition = getattr(statement, "subject" if hasattr(statement, "cases") else "test", None)
        if condition is not None and statement.__class__ is not ast.Assert and _asks(condition, names):
            yield condition.end_lineno + 1, statement.end_lineno
            if statement.__class__ is ast.If and block[index + 1 :] and _may_leave(statement):
                yield block[index + 1].lineno, block[-1].end_lineno
                return
            continue
        inner = [getattr(statement, field, None) or [] for field in _BLOCKS]
        inner += [part.body for field in ("handlers", "cases") for part in getattr(statement, field, None) or ()]
        if not any(inner):
            yield from _choices(statement, names)
        for part in inner:
            yield from _spans(part, names)


def _choices(statement: Node, names: set[str]) -> Iterator[tuple[int, int]]:
    """The lines of conditional expressions that ask for one of the names: `n if n > 0 else x.max().item()`."""
    for inner in walk(statement):
        if inner.__class__ is ast.IfExp and _asks(inner.test, names):
            yield inner.lineno, inner.end_lineno


def _may_leave(statement: Node) -> bool:
    """Whether a statement may leave the block by return, continue or break. A raise does not count, as it ends the run."""
    return any(inner.__class__ in _LEAVES for inner in walk(statement))


def _asks(test: Node, names: set[str]) -> bool:
    """Whether a condition reads one of these names."""
    return any(inner.__class__ is ast.Name and inner.id in names for inner in walk(test))
