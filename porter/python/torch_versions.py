"""Evaluates comparisons with numbers of torch's version: `int(torch.__version__.split(".")[1]) >= 8` is false for 2.7."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from porter.python import blocks
from porter.python.assigned import values_of
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.python.names import Names

COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def chosen(names: Names, link: Link, torch: tuple[int, ...]) -> Link | None:
    """The outermost `if` that chooses the code at `link` for this version of torch, and asks for nothing but that version."""
    found, child = None, link
    while (above := child[1]) is not None and above[0].__class__ is ast.If:
        truth = _truth(above[0].test, names, above, torch)
        if truth is None or not blocks.within(above[0], child[0], "body" if truth else "orelse"):
            break
        found = child = above
    return found


def other_branch_says(link: Link, keyword: str) -> bool:
    """`if new: stft(x, 400, return_complex=True)`, `else: stft(x, 400)`: somebody asked already what this torch takes."""
    child = link
    for above in ancestors(link):
        if isinstance(above[0], FUNCTIONS[:2]):
            return False
        if isinstance(above[0], ast.If):
            other = above[0].orelse if blocks.within(above[0], child[0], "body") else above[0].body
            calls = (node for statement in other for node in walk(statement) if isinstance(node, ast.Call))
            return any(given.arg == keyword for call in calls for given in call.keywords)
        child = above
    return False


def _truth(test: Node, names: Names, link: Link, torch: tuple[int, ...]) -> bool | None:
    if isinstance(test, ast.BoolOp):
        values, settles = [_truth(v, names, link, torch) for v in test.values], isinstance(test.op, ast.Or)
        return settles if settles in values else None if None in values else not settles
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, names, link, torch)
        return None if inner is None else not inner
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or test.ops[0].__class__ not in COMPARED:
        return None
    left, right = (_number(side, names, link, torch) for side in (test.left, test.comparators[0]))
    return None if left is None or right is None else COMPARED[test.ops[0].__class__](left, right)


def _number(node: ast.expr, names: Names, link: Link, torch: tuple[int, ...]) -> int | None:
    if isinstance(node, ast.Name):
        values = values_of(names, node, (node, link))
        node = values[0] if len(values) == 1 else node
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    index = _part(node, names, link)
    return torch[index] if index is not None and 0 <= index < len(torch[:2]) else None


def _part(node: ast.expr, names: Names, link: Link) -> int | None:
    """The n of `int(torch.__version__.split(".")[n])`."""
    match node:
        case ast.Call(
            func=ast.Name(id="int"),
            args=[
                ast.Subscript(
                    value=ast.Call(
                        func=ast.Attribute(value=version, attr="split"), args=[ast.Constant(value="."), *_], keywords=[]
                    ),
                    slice=ast.Constant(value=int(index)),
                )
            ],
            keywords=[],
        ) if names.resolve(version, (version, link)) == "torch.__version__":
            return index
    return None
