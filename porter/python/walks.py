"""Walks down a tree by the fields that can hold a node. `ast.walk` tries all fields and takes more than twice as long."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.engine.rule_file import Node
from porter.spans import Span

_PLAIN = frozenset(  # fields that are not visited: operators, contexts, words and numbers
    "ctx op ops type_comment type_ignores attr id arg name asname module level lineno kind conversion simple is_async"
    " rest kwd_attrs str".split()
)
_LEAVES = (ast.Constant, ast.alias, ast.Global, ast.Nonlocal, ast.MatchSingleton)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = (ast.ClassDef, ast.If, ast.Try, ast.With, ast.For, ast.While, ast.ExceptHandler)
_BODIES = ("body", "handlers", "orelse", "finalbody", "cases")  # fields with lists of statements
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: () if kind in _LEAVES else tuple(name for name in kind._fields if name not in _PLAIN)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
if alias := getattr(ast, "TypeAlias", None):
    _FIELDS[alias] = alias._fields  # its name is a node
_LISTS = {
    kind: tuple(name for name in _BODIES if name in kind._fields)
    for kind in _FIELDS
    if issubclass(kind, (ast.Module, ast.stmt, ast.excepthandler, ast.match_case))
}


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, level by level like `ast.walk`, but without operators and contexts."""
    nodes = [node]
    for inner in nodes:  # the list grows during the loop
        yield inner
        if _FIELDS[inner.__class__]:
            _add_children(inner, nodes)


def statements(node: Node) -> Iterator[Node]:
    """A node and the statements below it, handlers and cases among them, in the order of `walk`: a tenth of the nodes."""
    nodes = [node]
    for inner in nodes:
        yield inner
        if _LISTS[inner.__class__]:
            nodes += inside(inner)


def inside(node: Node) -> list[Node]:
    """The statements, handlers and cases right inside of a statement or a module."""
    nodes: list[Node] = []
    for name in _LISTS[node.__class__]:
        nodes += getattr(node, name)
    return nodes


def children(node: Node) -> list[Node]:
    """The nodes directly below a node, without operators and contexts."""
    nodes: list[Node] = []
    _add_children(node, nodes)
    return nodes


def _add_children(node: Node, nodes: list[Node]) -> None:
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name)
        if value.__class__ is list:
            nodes += filter(None, value)  # a dict's keys have None for each `**`
        elif value is not None:
            nodes.append(value)


def outer_functions(tree: ast.Module) -> list[Span]:
    """The first and last line of each function and method that is not inside another, sorted."""
    found: list[Span] = []
    nodes: list[Node] = [*tree.body]
    for node in nodes:
        if node.__class__ in _DEFINITIONS:
            first = min(line.lineno for line in (node, *node.decorator_list))
            found.append((first, node.end_lineno))
        elif isinstance(node, _BLOCKS):
            _add_children(node, nodes)
    return sorted(found)


def names_in(node: Node) -> set[str]:
    """The names that stand in a node, whether they are read or set."""
    return {inner.id for inner in walk(node) if inner.__class__ is ast.Name}
