"""Which statements of the port differ from the original, and which of them a run executed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path

from porter.python.trees import FAULTS, tree_of

Lines = tuple[int, int]  # the first and the last
Edited = Mapping[str, tuple[Lines, ...]]


def statements(original: Path, port: Path, names: Iterable[str]) -> dict[str, tuple[Lines, ...]]:
    """By file of the port, of those that `names` says."""
    found = {}
    for name in sorted(names):
        if name.endswith(".py") and (port / name).is_file():
            before = (original / name).read_bytes() if (original / name).is_file() else b""
            if changed := _changed(before, (port / name).read_bytes()):
                found[name] = changed
    return found


def not_run(edited: Edited, ran: Collection[tuple[str, int]]) -> list[str]:
    """`file:line` of each statement of which no line was executed; those of files that were reached come first."""
    lines: dict[str, set[int]] = {}
    for path, line in ran:
        lines.setdefault(path, set()).add(line)
    return [
        f"{path}:{first}"
        for path, places in sorted(edited.items(), key=lambda item: (item[0] not in lines, item[0]))
        for first, last in places
        if lines.get(path, set()).isdisjoint(range(first, last + 1))
    ]


def _changed(before: bytes, after: bytes) -> tuple[Lines, ...]:
    try:
        tree = tree_of(after)
    except FAULTS:
        return ()
    old, new = before.splitlines(), after.splitlines()
    lines = {
        line
        for kind, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind in ("replace", "insert")
        for line in range(start + 1, end + 1)
    }
    return tuple((first, last) for first, last in _statements(tree) if not lines.isdisjoint(range(first, last + 1)))


def _statements(tree: ast.Module) -> Iterator[Lines]:
    """Of one that has a body, its head alone. What is not executed at all is left out: a docstring, `global x`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or isinstance(node, (ast.Global, ast.Nonlocal)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        last = node.end_lineno or node.lineno
        if body:
            below = body[0].pattern.lineno if isinstance(node, ast.Match) else body[0].lineno
            last = max(node.lineno, below - 1)
        yield first, last
