"""Finds attention whose queries and keys are matrices of each sample, without a dimension for heads. The fused kernels take four
dimensions, and no wider head than they hold, which the code does not show of a whole width."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name
from porter.python.index import Node, walk
from porter.regex import lazy
from porter.values.value import Value
from porter.values.values import Body
from porter.values.views import base

_HEADS = lazy(r"(?i)head")
_SWAPPED = frozenset({(1, 2), (2, 1)})  # the last two of three dimensions
_MADE = frozenset({"module", "linear"})  # operations that make queries and keys
_LEAST_OF_HEADS = 4  # sizes of a view with a dimension for heads
_MOST = 30  # values that are looked at


def has_one_head(scores: Value, softmax: Value, body: Body) -> bool:
    """Whether the modules of this function make queries and keys with three dimensions, and nothing splits them into heads."""
    if body.owner is None or not (_is_flat(scores, softmax) or _takes_rows_apart(body.function)):
        return False
    if any(_HEADS.search(name) for name in map(_name, walk(body.owner)) if name):
        return False
    return all(map(_is_made_whole, scores.args[:2]))


def _name(node: Node) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "") or getattr(node, "arg", "") or ""


def _is_flat(scores: Value, softmax: Value) -> bool:
    """Whether the scores have three dimensions: by `bmm`, by `einsum`, by what is transposed, or by the softmax."""
    if scores.op == "einsum":
        sides = str(scores.info).replace(" ", "").partition("->")[0].split(",")
        return len(sides) == 2 and all(len(side) == 3 and side.isalpha() for side in sides)
    if scores.op == "baddbmm" or scores.info == "bmm" or softmax.info == 2:
        return True
    turned = (base(side) for side in scores.args[:2])
    return any(side.op == "transpose" and side.info in _SWAPPED for side in turned)


def _takes_rows_apart(function: Node) -> bool:
    """Whether a function says `b, n, c = x.shape` of its first parameter."""
    handed = [a.arg for a in function.args.args if a.arg != "self"][:1]
    for node in walk(function):
        if node.__class__ is ast.Assign and node.targets[0].__class__ is ast.Tuple and len(node.targets[0].elts) == 3:
            value = node.value.func if node.value.__class__ is ast.Call and not node.value.args else node.value
            if getattr(value, "attr", "") in ("shape", "size") and getattr(value.value, "id", None) in handed:
                return True
    return False


def _is_made_whole(value: Value) -> bool:
    """Whether a module makes a value, and no view on the way has a dimension for heads, or joins them with the batch."""
    for _ in range(_MOST):
        value = base(value)
        if value.op in _MADE:
            return True
        if value.op == "view" and _splits(value.node) or not value.args:
            return False
        if value.op == "choice" or value.op == "call" and len(value.args) > 1:
            return False
        value = value.args[0]
    return False


def _splits(node: Node) -> bool:
    if node.__class__ is not ast.Call:
        return False
    name = call_name(node.func)
    if name in ("rearrange", "unflatten", "unsqueeze"):
        return True
    sizes: list[Node] = node.args[1:] if getattr(getattr(node.func, "value", None), "id", "") == "torch" else node.args
    if len(sizes) == 1 and sizes[0].__class__ in (ast.Tuple, ast.List):
        sizes = sizes[0].elts
    if name == "permute":
        return len(sizes) >= _LEAST_OF_HEADS
    if name not in ("view", "reshape"):
        return False
    first: Node = sizes[0] if sizes else None
    joins = first.__class__ is ast.BinOp and first.op.__class__ is ast.Mult
    return len(sizes) >= _LEAST_OF_HEADS or joins or any(s.__class__ is ast.Starred for s in sizes)
