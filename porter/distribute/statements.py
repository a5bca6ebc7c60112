"""Edits of whole statements: a line above or below one, one inside a block of its own, a call around an expression."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from porter.finding import Change
from porter.python.index import Link, Node, walk
from porter.python.source import Source

_BLOCKS = ("body", "orelse", "finalbody")


class Crowded(Exception):
    """Other statements share the line of the one that a line belongs to."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def above(source: Source, statement: Node, text: str) -> Change:
    """A line above a statement. Raises Crowded."""
    start, indent = _begin(source, statement)
    return Change(start, start, indent + text.encode() + source.newline)


def below(source: Source, statement: Node, text: str) -> Change:
    """A line below a statement. Raises Crowded."""
    _, indent = _begin(source, statement)
    end, behind = _end(source, statement)
    if end == behind:  # the last line has no newline
        return Change(end, end, source.newline + indent + text.encode())
    return Change(behind, behind, indent + text.encode() + source.newline)


def inside(source: Source, statement: Node, header: str) -> Iterator[Change]:
    """A statement in a block of its own, below `header`. Raises Crowded."""
    start, indent = _begin(source, statement)
    _end(source, statement)
    unit = b"\t" if b"\t" in indent else b"    "
    yield Change(start, start, indent + header.encode() + source.newline + unit)
    kept = {number for node in walk(statement) for number in _inner_lines(node)}
    first = source.line(start)
    for number in range(first + 1, statement.end_lineno + 1):
        offset = source.starts[number - 1]
        if number not in kept and source.utf8[offset : source.line_end(offset)[0]].strip():
            yield Change(offset, offset, unit)


def _inner_lines(node: Node) -> Iterable[int]:
    """The lines that begin inside of a string: all of its lines but the first. To indent them would change it."""
    if isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        return range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    return ()


def called(source: Source, node: Node, name: str) -> list[Change]:
    """`name(...)` around an expression."""
    start, end = source.span(node)
    return [Change(start, start, f"{name}(".encode()), Change(end, end, b")")]


def replaced(source: Source, node: Node, text: str) -> Change:
    start, end = source.span(node)
    return Change(start, end, text.encode())


def removed(source: Source, link: Link) -> Change:
    """A statement that goes. Alone in its block, beside others on its line, or with a comment behind it, it becomes `pass`."""
    statement, holder = link[0], link[1][0]
    try:
        start, _ = _begin(source, statement)
        end, behind = _end(source, statement)
    except Crowded:
        return replaced(source, statement, "pass")
    blocks = [block for block in (getattr(holder, name, None) for name in _BLOCKS) if isinstance(block, list)]
    alone = any(statement in block and len(block) == 1 for block in blocks)
    if alone or source.utf8[source.span(statement)[1] : end].strip():
        return replaced(source, statement, "pass")
    return Change(start, behind, b"")


def _begin(source: Source, statement: Node) -> tuple[int, bytes]:
    first = min([statement, *getattr(statement, "decorator_list", ())], key=lambda node: node.lineno)
    start = source.starts[first.lineno - 1]
    indent = source.indentation(source.span(statement)[0])
    if source.starts[statement.lineno - 1] + len(indent) != source.span(statement)[0]:
        raise Crowded(statement.lineno)
    return start, indent


def _end(source: Source, statement: Node) -> tuple[int, int]:
    end = source.span(statement)[1]
    before, behind = source.line_end(end)
    rest = source.utf8[end:before].strip(b" \t\f")
    if rest and not rest.startswith(b"#"):
        raise Crowded(statement.lineno)
    return before, behind


def in_order(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Sorted; at one place in the order in which they were made."""
    return tuple(change for _, change in sorted(enumerate(changes), key=lambda row: (row[1].start, row[1].end, row[0])))
