"""Two conversions in a row of which the second takes the first back."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from porter.engine.rule_file import Names
from porter.python.evidence import constant
from porter.python.index import Link, Node

_WIDTHS = {"half": 16, "bfloat16": 16, "float16": 16, "float": 32, "float32": 32, "double": 64, "float64": 64}
CASTS = ("half", "bfloat16", "float", "double")


def undone(names: Names, link: Link) -> str:
    """cast | order, or "" for what converts something else. `link` is of what is called, `x.float().half`."""
    inner: Node = getattr(link[0], "value", None)
    if inner.__class__ is not ast.Call or inner.func.__class__ is not ast.Attribute:
        return ""
    outer = link[1][0]
    if link[0].attr in ("permute", "transpose", "swapaxes"):
        same = inner.func.attr == link[0].attr and _cancels(link[0].attr, inner, outer)
        return "order" if same else ""
    wide, narrow = _width(names, inner, link), _width(names, outer, link)
    return "cast" if wide > narrow > 0 else ""  # the other way round, it rounds on purpose


def _width(names: Names, call: ast.Call, link: Link) -> int:
    """Of the type that a call casts to; 0 where it is no cast, or does more."""
    name = getattr(call.func, "attr", "")
    if name in CASTS:
        return 0 if call.args or call.keywords else _WIDTHS[name]
    if name != "to" or len(call.args) != 1 or call.keywords:
        return 0
    head, _, kind = (names.resolve(call.args[0], link) or "").rpartition(".")
    return _WIDTHS.get(kind, 0) if head == "torch" else 0


def _cancels(name: str, inner: ast.Call, outer: ast.Call) -> bool:
    if inner.keywords or outer.keywords:
        return False
    first, second = _numbers(inner.args), _numbers(outer.args)
    if not first or len(first) != len(second):
        return False
    if name != "permute":
        return sorted(first) == sorted(second)
    size = len(first)
    order = [first[n] if -size <= n < size else n for n in second]
    return size > 1 and [n % size for n in order] == list(range(size))


def _numbers(arguments: Iterable[Node]) -> list[int]:
    """`0, 2, 1` and `(0, 2, 1)`; nothing where one is no number."""
    nodes = list(arguments)
    if len(nodes) == 1 and nodes[0].__class__ in (ast.Tuple, ast.List):
        nodes = nodes[0].elts
    numbers = [_number(node) for node in nodes]
    return [n for n in numbers if n is not None] if None not in numbers else []


def _number(node: Node) -> int | None:
    sign = 1
    if node.__class__ is ast.UnaryOp and node.op.__class__ is ast.USub:
        sign, node = -1, node.operand
    value = constant(node)
    return sign * value if type(value) is int else None
