"""Where a model or a loader gets its name, and below which statement it is complete."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from porter.distribute.refusals import refused
from porter.distribute.trace import DEFS, Place, World
from porter.instrument.naming import statement_of
from porter.python.index import Link, Node, ancestors, walk

_MOVES = frozenset("to cuda npu half float double bfloat16 apply".split())


class Home(NamedTuple):
    """Where a model gets its name: the statement below which it is complete."""

    name: str
    place: Place


def add(known: list[Home], found: Iterable[Home]) -> None:
    for home in found:
        if not any(home.place.node is each.place.node and home.name == each.name for each in known):
            known.append(home)


def homes(world: World, name: Place, around: set[int], depth: int = 0) -> Iterator[Home]:
    """Where a name is bound by what makes the model: up through parameters to who gives it."""
    if isinstance(name.node, ast.Attribute):
        yield from _member_home(world, name, around, depth)
        return
    if not isinstance(name.node, ast.Name):
        return
    bindings = name.file.names.bindings(name.node.id, name.link)
    parameters = [b for b in bindings if isinstance(b[0], ast.arg)]
    for binding in parameters:
        function = next((a for a in ancestors(binding) if isinstance(a[0], DEFS)), None)
        for given in world.arguments(Place(name.file, function), name.node.id) if function and depth < 6 else ():
            yield from homes(world, given, around, depth + 1)
    stores = [b for b in bindings if isinstance(b[0], ast.Name)]
    if stores and not parameters:
        yield Home(name.node.id, _completed(world, name, stores, around))


def _member_home(world: World, name: Place, around: set[int], depth: int) -> Iterator[Home]:
    text = ast.unparse(name.node)
    made = [(place, number) for place, number in world.members(name) if not _is_none(place.node.value)]
    for assigned, number in made[:1]:
        if isinstance(assigned.node.value, ast.Name) and number is None:
            inner = assigned.within(assigned.node.value)
            if depth < 6 and (found := list(homes(world, inner, around, depth + 1))):
                yield from found
                return
        function = world.function_around(assigned)
        if function is None:
            continue
        last = assigned
        for node in walk(function.node):
            if isinstance(node, ast.stmt) and node.lineno > last.node.lineno and _touches(node, text):
                last = world.place(assigned.file, node)
        yield Home(text, _lifted(last, function.node.body))


def _is_none(node: Node) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _completed(world: World, name: Place, stores: list[Link], around: set[int]) -> Place:
    """The last statement that binds or moves a model before the training begins, in the block around what trains."""
    text = name.node.id
    first = min((Place(name.file, statement_of(b)) for b in stores), key=lambda place: place.node.lineno)
    function = world.function_around(first)
    scope: Node = function.node if function is not None else name.file.tree
    touching = [
        world.place(name.file, node)
        for node in walk(scope)
        if isinstance(node, ast.stmt) and _touches(node, text) and node.lineno >= first.node.lineno
    ]
    block = _block_of(first)
    begins = min((s.lineno for s in block if id(s) in around and s.lineno > first.node.lineno), default=sys.maxsize)
    kept = [place for place in touching if place.node.lineno < begins and _lifted_or_none(place, block)]
    last = max(kept, key=lambda place: place.node.lineno) if kept else first
    return _lifted(last, block)


def _block_of(place: Place) -> list[ast.stmt]:
    """The block that a statement stands in; of one in an `if` or a `try`, the block around that."""
    node, link = place.node, place.link[1]
    while isinstance(link[0], (ast.If, ast.Try, ast.With)) and not _is_main(link[0]):
        node, link = link[0], link[1]
    for field in ("body", "orelse", "finalbody"):
        block = getattr(link[0], field, None)
        if isinstance(block, list) and node in block:
            return block
    raise refused("model", place)


def _is_main(node: Node) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _lifted_or_none(place: Place, block: list[ast.stmt]) -> Place | None:
    for link in (place.link, *ancestors(place.link)):
        if link[0] in block:
            return Place(place.file, link)
    return None


def _lifted(place: Place, block: list[ast.stmt]) -> Place:
    return _lifted_or_none(place, block) or place


def _touches(statement: ast.stmt, text: str) -> bool:
    """Whether a statement binds a model anew or moves it."""
    if isinstance(statement, ast.Assign):
        return any(ast.unparse(t) == text for each in statement.targets for t in getattr(each, "elts", [each]))
    call = statement.value if isinstance(statement, ast.Expr) else None
    moves = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES
    return moves and isinstance(call, ast.Call) and ast.unparse(call.func.value) == text  # type: ignore[attr-defined]
