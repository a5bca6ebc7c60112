"""Finds expressions that are read again in the next lines of a block, if nothing in between changes their value."""

from __future__ import annotations

import ast

from porter.python.blocks import BODIES, place
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy

# functions that give another value each time; methods that change their object
_ANEW = lazy(r"(?i)rand|normal|bernoulli|poisson|multinomial|sample|draw|^next$|^pop|^read|^get$")
_IN_PLACE = lazy(r"[a-z]_$")  # the name of a method that changes its tensor
_PARTS = (ast.Name, ast.Attribute, ast.Subscript)
_NEAR = 4  # statements from one read to the next, at most


def first_statement(link: Link) -> Link | None:
    """The first statement that reads the value of the expression at a link; its own statement where none above does."""
    statement = next((above for above in ancestors(link) if isinstance(above[0], ast.stmt)), None)
    if statement is None or statement[1] is None:
        return statement
    around, first = statement[1][0], statement[0]
    field, index = place(around, first)
    if field not in BODIES or _gives_others(link[0]):
        return statement
    wanted, parts = ast.dump(link[0]), _parts(link[0])
    block = getattr(around, field)
    for number in range(index - 1, -1, -1):
        if index - number > _NEAR or _changes(block[number], parts):
            break
        if not hasattr(block[number], "body") and _holds(block[number], link[0], wanted):
            first, index = block[number], number
    return first, statement[1]


def cause(link: Link) -> str:
    """A word for an expression. It is the same wherever the block reads the same value again."""
    statement = first_statement(link)
    return f"{statement[0].lineno if statement else 0} {ast.unparse(link[0])}"


def _gives_others(node: Node) -> bool:
    """Whether an expression may have another value each time: a random one, the next one."""
    return any(_ANEW.search(call_name(n.func)) for n in walk(node) if n.__class__ is ast.Call)


def _holds(statement: Node, node: Node, wanted: str) -> bool:
    return any(n.__class__ is node.__class__ and ast.dump(n) == wanted for n in walk(statement))


def _parts(node: Node) -> frozenset[str]:
    """The names and attributes that an expression reads: `self` and `self.count` of `self.count.item()`."""
    return frozenset(ast.unparse(n) for n in walk(node) if n.__class__ in _PARTS)


def _changes(statement: Node, parts: frozenset[str]) -> bool:
    return any((changed := _changed(node)) is not None and ast.unparse(changed) in parts for node in walk(statement))


def _changed(node: Node) -> Node:
    """The expression that a node sets or changes in place: `x = 1`, `x[0] = 1`, `x.data = y`, `x.add_(1)`. A method of `self`
    may change `self`."""
    if node.__class__ in _PARTS and node.ctx.__class__ is not ast.Load:
        is_part = node.__class__ is ast.Subscript or getattr(node, "attr", "") == "data"
        return node.value if is_part else node
    if node.__class__ is ast.Call and node.func.__class__ is ast.Attribute:
        owner = node.func.value
        return owner if _IN_PLACE.search(node.func.attr) or getattr(owner, "id", "") == "self" else None
    return None
