"""Finds where a project uses what a file imports under a guard: `try: from causal_conv1d import f`, `except ImportError: f = None`.

Such an import stops nothing by itself. What is said of its package matters where a name of it is used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from porter.project.unused import Uses
from porter.python.imports import handler_of
from porter.python.index import Node
from porter.python.walks import statements, walk


class Guarded(NamedTuple):
    name: str  # that is imported
    lines: list[int]  # that use it


def guarded(uses: Uses, path: str, rows: Sequence[bytes], lines: list[int]) -> Guarded | None:
    """What guarded imports on these lines of a file bring; None where one is no such import, or another file uses it. `rows`: the
    lines of the file."""
    if not all(b"import" in rows[line - 1] for line in lines if line <= len(rows)) or (tree := uses.tree(path)) is None:
        return None
    guards = [(guard, line) for line in lines if (guard := _guard(tree, line)) is not None]
    names = sorted({name for guard, line in guards for name in _imported(guard, line)})
    bound = {*names, *(name for guard, _ in guards for name in _flags(guard))}
    if not guards or len(guards) < len(lines) or "*" in names:
        return None
    if any(next(uses.users(name, path), None) is not None for name in sorted(bound)):
        return None  # "" stands for files that are not searched
    own = {line for guard, _ in guards for line in range(guard.lineno, (guard.end_lineno or guard.lineno) + 1)}
    used = {node.lineno for node in walk(tree) if node.__class__ is ast.Name and node.id in bound}
    is_loaded = any(isinstance(s, ast.Import) for guard, line in guards for s in _statements(guard, line))
    # to load a package may be its use: it registers operators
    return Guarded(names[0], sorted(used - own)) if used - own or not is_loaded else None


def _guard(tree: ast.Module, line: int) -> ast.Try | None:
    """The statement that lets the file go on where an import on this line fails."""
    for guard in statements(tree):
        if isinstance(guard, ast.Try) and any(_imported(guard, line)) and (handler := handler_of(guard)):
            if not any(isinstance(node, ast.Raise) for inner in handler.body for node in walk(inner)):
                return guard
    return None


def _statements(guard: Node, line: int) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a guard on a line."""
    for statement in guard.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            if statement.lineno <= line <= (statement.end_lineno or line):
                yield statement


def _imported(guard: Node, line: int) -> Iterator[str]:
    for statement in _statements(guard, line):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)


def _flags(guard: Node) -> Iterator[str]:
    """`HAS_KERNEL` of `HAS_KERNEL = True` beside the import."""
    for statement in (*guard.body, *guard.orelse):
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if isinstance(target, ast.Name):
                yield target.id
