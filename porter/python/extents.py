"""Which tensors of a function have the same shape, whatever it is: what is made element by element keeps it."""

from __future__ import annotations

from .values import Value
from .views import base

_PREDICATES = frozenset(
    "eq ne gt lt ge le isnan isinf isfinite isclose logical_not logical_and logical_or logical_xor bool".split()
)
_LIKE = frozenset(
    """zeros_like ones_like full_like rand_like randn_like empty_like clone detach abs log log1p exp clamp clip round floor ceil
    softplus leaky_relu elu requires_grad_ nan_to_num bernoulli masked_fill""".split()
)
_FILLED = frozenset("zeros ones full rand randn empty new_zeros new_ones new_full new_empty".split())
_UNARY = frozenset(
    "square rsqrt sqrt sigmoid neg exp tanh silu relu gelu softmax dropout written not masked_fill".split()
)
_BINARY = frozenset("add sub mul div pow compare BitAnd BitOr BitXor Mod FloorDiv".split())
_DEEPEST = 40


def covers(mask: Value, x: Value) -> bool:
    """Whether `mask` is boolean and has the shape of `x`, given that `x[mask]` works."""
    of = single(x)
    if of.op == "leaf" and of.info[0] == "attribute":  # what others may set anew
        return False
    return is_boolean(mask) and of in _broadcast(mask, 0)


def single(value: Value, depth: int = 0) -> Value:
    """The first value that has the shape of this one, come what may."""
    value = base(value)
    if depth > _DEEPEST:
        return value
    if value.op in _UNARY:
        return single(value.args[0], depth + 1)
    if value.op in _BINARY and len(value.args) == 2:
        left, right = value.args
        if "const" in (left.op, right.op):
            return single(right if left.op == "const" else left, depth + 1)
        found = single(left, depth + 1)
        return found if found is single(right, depth + 1) else value
    if value.op == "choice":
        found = [single(a, depth + 1) for a in value.args]
        return found[0] if all(f is found[0] for f in found) else value
    if value.op == "call" and value.args:
        last = _last(value)
        if last in _LIKE or last in _PREDICATES and len(value.args) == 1:
            return single(value.args[0], depth + 1)
        if last in _FILLED:
            of = next((_sized_by(a) for a in value.args[:2] if _sized_by(a)), None)
            return single(of, depth + 1) if of else value
    return value


def _sized_by(value: Value) -> Value | None:
    """x of `x.shape`, `x.size()`."""
    whole = (
        value.op == "attribute"
        and value.info == "shape"
        or value.op == "call"
        and _last(value) == "size"
        and len(value.args) == 1
    )
    return value.args[0] if whole else None


def _broadcast(value: Value, depth: int) -> set[Value]:
    """Values whose shapes take part in this one's: it is at least as large as each of them in each dimension."""
    value, found = base(value), {single(value)}
    parts = value.op in (*_UNARY, *_BINARY) or value.op == "call" and _last(value) in _PREDICATES
    if parts and depth < _DEEPEST:
        for arg in value.args if value.op != "masked_fill" else value.args[:1]:
            found |= _broadcast(arg, depth + 1)
    return found


def is_boolean(value: Value, depth: int = 0) -> bool:
    value = base(value)
    if value.op == "compare":
        return not {"In", "NotIn", "Is", "IsNot"} & {*value.info}
    if value.op in ("not", "BitAnd", "BitOr", "BitXor", "written", "choice") and depth < _DEEPEST:
        return all(is_boolean(a, depth + 1) for a in value.args)
    return value.op == "call" and _last(value) in _PREDICATES


def _last(value: Value) -> str:
    return value.info[0].rpartition(".")[2]
