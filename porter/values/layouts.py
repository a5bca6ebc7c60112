"""Finds which of the last two dimensions of a tensor is that of the positions, if the code for its heads shows it."""

from __future__ import annotations

import ast
from typing import Any

from porter.python.evidence import call_name, constant
from porter.python.index import Node
from porter.regex import lazy
from porter.values.value import Value
from porter.values.views import base, factors

_SWAPS = frozenset({(-2, -1), (-1, -2), (2, 3), (3, 2)})  # dimensions of a transposition that swaps the last two
# operations that keep the last two dimensions
_PARTS = frozenset({"half", "item", "index", "parts", "unbound", "normalize", "dropout", "choice"})
# a group, or an axis, in a pattern of einops
_AXES = lazy(r"\([^)]*\)|\S+")


def of_channels(product: Value) -> bool:
    """Whether a product of queries and keys sums over the positions, so that it is attention between channels."""
    first, is_last = product.args[0], True
    if product.op == "einsum":
        left, _, right = str(product.info).replace(" ", "").partition(",")
        summed = [axis for axis in left if axis not in right.partition("->")[2]]
        if len(summed) != 1 or len(left) < 3:
            return len(summed) > 1  # a width of a head is one dimension
        is_last = left[-1] == summed[0]
    elif product.op != "matmul" or base(product.args[1]).op != "transpose":
        return False
    positions_last = _positions_last(first)
    return positions_last is not None and positions_last is is_last


def is_alone(product: Value) -> bool:
    """Whether every query has keys of its own, so that the scores are not larger than the keys: `q.unsqueeze(-2) @ k`,
    `einsum("bhid,bhijd->bhij", q, k)`."""
    if product.op == "einsum":
        sides, arrow, scores = str(product.info).replace(" ", "").partition("->")
        side, _, other = sides.partition(",")
        if not arrow or "." in sides or not scores:
            return False
        queries, keys = (side, other) if scores[-1] in other else (other, side)
        return scores[-1] not in queries and not set(scores) & set(queries) - set(keys)
    left = base(product.args[0])
    while left.op in ("div", "dropout"):
        left = base(left.args[0])
    return product.op == "matmul" and any(
        _is_row(v.node, _has_three(product)) for v in factors(left) if v.op in ("view", "item")
    )


def _has_three(product: Value) -> bool:
    """Whether a product is of tensors with three dimensions: `bmm`, or one whose second side was turned by them."""
    turned = base(product.args[1])
    return product.info == "bmm" or turned.op == "transpose" and turned.info in ((1, 2), (2, 1))


def _is_row(node: Node, of_three: bool) -> bool:
    """Whether a node makes each query a row: `q.unsqueeze(-2)`, `q[..., None, :]`; with three dimensions, `q.unsqueeze(1)`."""
    if node.__class__ is ast.Subscript:
        parts = node.slice.elts if node.slice.__class__ is ast.Tuple else []
        return len(parts) > 2 and constant(parts[0]) is ... and _is_new(parts[-2])
    if node.__class__ is not ast.Call or call_name(node.func) != "unsqueeze" or not node.args:
        return False
    dimension = ast.unparse(node.args[-1])
    return dimension == "-2" or dimension == "1" and of_three


def _is_new(node: Node) -> bool:
    """Whether a part of an index is None."""
    return node.__class__ is ast.Constant and node.value is None


def _positions_last(value: Value) -> bool | None:
    """Whether the positions are the last dimension; None where that is not known."""
    value = base(value)
    while value.op in _PARTS or value.op == "mul" or value.op in ("call", "module") and len(value.args) == 1:
        value = base(value.args[0])
    if value.op == "transpose" and value.info in _SWAPS:
        below = _positions_last(value.args[0])
        return None if below is None else not below
    if value.op == "transpose":
        return _positions_last(value.args[0])
    if value.op != "view" or value.node.__class__ is not ast.Call:
        return None
    name = call_name(value.node.func)
    if name == "rearrange":
        return _rearranged(value.node)
    if name == "permute" and _splits_features(base(value.args[0])):
        order: list[Any] = [constant(a) for a in value.node.args[-5:]]
        return order[-1] != max(order) if len(order) >= 4 and all(type(i) is int for i in order) else None
    return None


def _splits_features(value: Value) -> bool:
    """Whether a value is `linear(x).reshape(b, n, 3, heads, width)`. There the features are last."""
    if value.op != "view" or value.node.__class__ is not ast.Call:
        return False
    return call_name(value.node.func) in ("view", "reshape") and base(value.args[0]).op in ("linear", "module")


def _rearranged(call: ast.Call) -> bool | None:
    """Whether the positions are last after `b n (h d) -> b h n d`. The axes in brackets were features before."""
    pattern: Any = next((constant(a) for a in call.args if isinstance(constant(a), str)), "")
    before, arrow, after = pattern.partition("->")
    axes, features = _AXES.findall(after), set()
    for group in _AXES.findall(before):
        if group.startswith("("):
            features |= set(group.strip("()").split())
    if not arrow or not axes or not features:
        return None
    if features.isdisjoint(a for axis in axes[-2:] for a in axis.strip("()").split()):
        return None
    return features.isdisjoint(axes[-1].strip("()").split())
