"""Evaluates comparisons with numbers of torch's version: `int(torch.__version__.split(".")[1]) >= 8` is false for 2.7."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from porter.python import blocks
from porter.python.assigned import values_of
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.names import Names

_DIGITS = lazy(r"\d+(?:\.\d+)?")
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
        answers, settles = [_truth(v, names, link, torch) for v in test.values], isinstance(test.op, ast.Or)
        return settles if settles in answers else None if None in answers else not settles
    value = _value(test, names, link, torch)
    return None if value is None else bool(value)


def _value(node: ast.expr, names: Names, link: Link, torch: tuple[int, ...]) -> float | None:
    """What an expression gives for a version, as Python computes it: `(major == 1 and minor) < 9` is true for 2.7."""
    if isinstance(node, ast.BoolOp):
        values, settles = [_value(v, names, link, torch) for v in node.values], isinstance(node.op, ast.Or)
        # the first that settles it, or that is not known; else the last
        return next((value for value in values if value is None or bool(value) is settles), values[-1])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _value(node.operand, names, link, torch)
        return None if inner is None else not inner
    if isinstance(node, ast.Compare):
        if len(node.ops) != 1 or node.ops[0].__class__ not in COMPARED:
            return None
        left, right = (_value(side, names, link, torch) for side in (node.left, node.comparators[0]))
        return None if left is None or right is None else COMPARED[node.ops[0].__class__](left, right)
    return _number(node, names, link, torch)


def _number(node: ast.expr, names: Names, link: Link, torch: tuple[int, ...]) -> float | None:
    if isinstance(node, ast.Name):
        values = values_of(names, node, (node, link))
        node = values[0] if len(values) == 1 else node
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (int, float)) and not isinstance(node.value, bool) else None
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    if not isinstance(node.func, ast.Name) or node.func.id not in ("int", "float"):
        return None
    text = _text(node.args[0], names, link, torch)
    return float(text) if text and _DIGITS.fullmatch(text) else None


def _text(node: ast.expr, names: Names, link: Link, torch: tuple[int, ...]) -> str:
    """Of `torch.__version__.split(".")[1]` and `torch.__version__[:3]`; "" where it is another text."""
    written = ".".join(map(str, torch))
    match node:
        case ast.Subscript(
            value=ast.Call(
                func=ast.Attribute(value=version, attr="split"), args=[ast.Constant(value="."), *_], keywords=[]
            ),
            slice=ast.Constant(value=int(index)),
        ):
            text = written.split(".")[index] if 0 <= index < len(torch[:2]) else ""
        case ast.Subscript(value=version, slice=ast.Slice(lower=None, upper=ast.Constant(value=int(last)), step=None)):
            text = written[:last]
        case _:
            return ""
    return text if names.resolve(version, (version, link)) == "torch.__version__" else ""
