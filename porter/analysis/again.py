"""Says which statements of a port are analysed again: those that an edit touches, those whose hits made the edits, and those
that read what the first two bind. All other statements say the same as before."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from porter.finding import Change
from porter.python.index import Link, Node, on_lines, parents, walk
from porter.python.source import Source
from porter.spans import Span

if TYPE_CHECKING:
    from porter.analysis.file import File

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


class Again(NamedTuple):
    """The port that is analysed again."""

    unsafe: bool  # the edits to review are made as well
    changes: tuple[Change, ...]  # in offsets of the old text
    places: tuple[int, ...]  # the places of the hits that made them, in offsets of the old text


def near(file: File, again: Again) -> frozenset[int]:
    """The lines of these statements; of a compound statement, the lines of its head."""
    found = list(_statements(file.tree, sorted(set(_touched(again, file.source)))))
    names, attributes = set[str](), set[str]()
    for statement in found:
        for node in _head(statement):
            names.update(_bound(node))
            if node.__class__ is ast.Attribute and node.ctx.__class__ is not ast.Load:
                attributes.add(node.attr)
    readers = [link for link in file.names.uses if link[0].id in names]
    readers += [link for link in file.buckets[ast.Attribute] if link[0].attr in attributes]
    found += [statement for link in readers if (statement := _around(link)) is not None]
    return frozenset(line for first, last in map(_lines, found) for line in range(first, last + 1))


def _touched(again: Again, source: Source) -> Iterator[int]:
    """The lines of the port where an edit is, or a hit that made one."""
    places = sorted(again.places)
    ahead = passed = 0  # bytes that the port is longer so far; places that were yielded
    for change in sorted(again.changes):
        while passed < len(places) and places[passed] < change.end:
            yield source.line(places[passed] + ahead)
            passed += 1
        start = change.start + ahead
        yield from range(source.line(start), source.line(start + len(change.new)) + 1)
        ahead += len(change.new) - (change.end - change.start)
    yield from (source.line(place + ahead) for place in places[passed:])


def _statements(node: Node, lines: list[int]) -> Iterator[Node]:
    """The statements below a node that stand on one of the lines; of a compound statement, only its head counts."""
    stack = [node]
    while stack:
        holder = stack.pop()
        for inner in (inner for field in _BLOCKS for inner in getattr(holder, field, ()) if on_lines(inner, lines)):
            first, last = _lines(inner)
            index = bisect_left(lines, first)
            if index < len(lines) and lines[index] <= last:
                yield inner
            stack.append(inner)


def _head(statement: Node) -> Iterator[Node]:
    """The nodes of a statement, without the blocks of a compound statement; the patterns of a `match` bind parts of its subject."""
    for name, value in ast.iter_fields(statement):
        if name not in _BLOCKS:
            for inner in value if isinstance(value, list) else (value,):
                if isinstance(inner, ast.AST):
                    yield from walk(inner)
    for case in getattr(statement, "cases", ()):
        yield from walk(case.pattern)
    yield statement


def _bound(node: Node) -> Iterable[str]:
    """The names that a node binds."""
    kind = node.__class__
    if kind is ast.Name:
        return () if node.ctx.__class__ is ast.Load else (node.id,)
    if kind is ast.alias:
        return (node.asname or node.name.partition(".")[0],)
    if kind is ast.arg:
        return (node.arg,)
    return filter(None, (getattr(node, "name", None), getattr(node, "rest", None)))  # `rest` of `case {**rest}`


def _around(link: Link) -> Node | None:
    """The statement, handler or case around a node."""
    kinds = (ast.stmt, ast.ExceptHandler, ast.match_case)
    return next((node for node in parents(link) if isinstance(node, kinds)), None)


def _lines(statement: Node) -> Span:
    """The first and last line of a statement with its decorators; of a compound statement, to where its block begins."""
    if statement.__class__ is ast.match_case:
        return statement.pattern.lineno, statement.body[0].lineno
    first = min(node.lineno for node in (statement, *getattr(statement, "decorator_list", ())))
    if statement.__class__ is ast.Match:
        return first, statement.cases[0].pattern.lineno
    body = getattr(statement, "body", ())
    return first, body[0].lineno if body else statement.end_lineno
