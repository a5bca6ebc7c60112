"""Finds tensors of a function with the same shape, as operators on elements keep a shape; and tensors on the host.

Only training/masks.py asks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from porter.python.evidence import call_name
from porter.rulebook.table import hints
from porter.training.made_there import FACTORIES
from porter.values.value import Value
from porter.values.views import base

# functions that give booleans
BOOLEAN = frozenset(
    "eq ne gt lt ge le isnan isinf isfinite isclose logical_not logical_and logical_or logical_xor bool".split()
)
_ALONG = frozenset({"any", "all"})
_OF_TWO = frozenset({"min", "max", "minimum", "maximum"})
_LIKE = hints("shaped-like-its-argument")
# functions that make a tensor of a given size
_FILLED = frozenset("zeros ones full rand randn empty new_zeros new_ones new_full new_empty".split())
# operations of values/ that keep a shape: of one tensor; with views; of two tensors
_UNARY = frozenset(
    "square rsqrt sqrt sigmoid neg exp tanh silu relu gelu softmax dropout written not masked_fill".split()
)
_SHAPED = _UNARY | {"view", "transpose"}
_BINARY = frozenset("add sub mul div pow compare BitAnd BitOr BitXor Mod FloorDiv".split())
_DEEPEST = 40  # steps through which a value is followed


def gives_booleans(call: ast.Call, is_mask: Callable[[ast.expr], bool]) -> bool:
    """Whether a call does: by its name, or because it takes the smaller or larger elements of two masks, or asks a mask along a
    dimension: `torch.isfinite(x).all(dim=-1)`."""
    name = call_name(call.func)
    if name in _ALONG:
        given = len(call.args) + len(call.keywords)
        if call.args and is_mask(call.args[0]):
            return given > 1
        return given > 0 and isinstance(call.func, ast.Attribute) and is_mask(call.func.value)
    return name in BOOLEAN or name in _OF_TWO and len(call.args) == 2 and all(map(is_mask, call.args))


def covers(mask: Value, x: Value) -> str | None:
    """Whether `mask` is boolean and has the shape of `x`, given that `x[mask]` works: 'certain'; 'likely' if that holds only
    when attributes of `self` are numbers; else None."""
    if not is_boolean(mask):
        return None
    for shapes, sure in ((_Shapes(False), "certain"), (_Shapes(True), "likely")):
        origin = shapes.single(x)
        if not _is_kept(origin) and origin in shapes.broadcast(mask):
            return sure
    return None


def _is_kept(value: Value) -> bool:
    """Whether a value is an attribute of `self`."""
    return value.op == "leaf" and value.info[0] == "attribute"


class _Shapes:
    """Follows the shapes of values to their origins."""

    def __init__(self, kept: bool):
        self.kept = kept  # whether attributes of `self` are assumed to be numbers
        self._known: dict[Value, Value] = {}

    def single(self, value: Value, depth: int = 0) -> Value:
        """The first value that certainly has the same shape as this one."""
        value = base(value)
        if value not in self._known:
            parts = self._parts(value) if depth < _DEEPEST else []
            origins = {id(origin): origin for origin in (self.single(part, depth + 1) for part in parts)}
            self._known[value] = next(iter(origins.values())) if len(origins) == 1 else value
        return self._known[value]

    def _parts(self, value: Value) -> list[Value]:
        """Values with the same shape as this one, provided that they all have one shape."""
        if value.op in _UNARY:
            return [value.args[0]]
        if value.op in _BINARY and len(value.args) == 2:
            tensors = [a for a in value.args if a.op != "const" and not (self.kept and _is_kept(a))]
            return tensors or [*value.args]
        if value.op == "choice":
            return [*value.args]
        if value.op != "call" or not value.args:
            return []
        name = _last(value)
        if name in _FILLED:
            return [tensor for tensor in map(_sized_by, value.args[:2]) if tensor is not None][:1]
        return [value.args[0]] if name in _LIKE or name in BOOLEAN and len(value.args) == 1 else []

    def broadcast(self, value: Value) -> set[Value]:
        """Values with which this one was broadcast: it is at least as large as each of them in each dimension."""
        shapes, visited, todo = set(), set(), [value]
        while todo:
            value = base(todo.pop())
            if value not in visited:
                visited.add(value)
                shapes.add(self.single(value))
                if value.op in (*_UNARY, *_BINARY) or value.op == "call" and _last(value) in BOOLEAN:
                    todo += value.args if value.op != "masked_fill" else value.args[:1]
        return shapes


def _sized_by(value: Value) -> Value | None:
    """The tensor of a shape: x of `x.shape` and `x.size()`."""
    whole = (
        value.op == "attribute"
        and value.info == "shape"
        or value.op == "call"
        and _last(value) == "size"
        and len(value.args) == 1
    )
    return value.args[0] if whole else None


def is_boolean(value: Value) -> bool:
    """Whether a value is certainly a tensor of booleans."""
    visited, todo = set(), [value]
    while todo:
        value = base(todo.pop())
        if value in visited:
            continue
        visited.add(value)
        if value.op in ("not", "BitAnd", "BitOr", "BitXor", "written", "choice"):
            todo += value.args
        elif value.op == "compare":
            if not {"In", "NotIn", "Is", "IsNot"}.isdisjoint(value.info):
                return False
        elif value.op != "call" or _last(value) not in BOOLEAN:
            return False
    return True


def made_on_host(value: Value) -> bool:
    """Whether a factory without a device made a value or a part of it. A tensor on a device cannot be combined with that."""
    visited, todo = set(), [value]
    while todo:
        value = todo.pop()
        if value in visited:
            continue
        visited.add(value)
        if value.op == "call" and value.info[0] in FACTORIES:
            if {k.arg for k in value.node.keywords}.isdisjoint({"device", "out", None}):
                return True
        elif value.op in (*_UNARY, *_BINARY) or value.op == "cast" and value.info not in ("to", "type_as"):
            todo += value.args
    return False


def is_moved_to_host(value: Value) -> bool:
    """Whether a value is `x.cpu()`, or is made of that element by element."""
    for _ in range(_DEEPEST):
        value = base(value)
        if value.op not in _SHAPED:
            break
        value = value.args[0]
    return value.op == "call" and _last(value) in ("cpu", "numpy")


def _last(value: Value) -> str:
    return str(value.info[0]).rpartition(".")[2]
