"""Which tensors of a function have the same shape, whatever it is: what is made element by element keeps it."""

from __future__ import annotations

from .handed import FACTORIES
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


def covers(mask: Value, x: Value) -> str | None:
    """Whether `mask` is boolean and has the shape of `x`, given that `x[mask]` works: 'certain', or 'likely' where what
    an object keeps would have to be a number for that."""
    if not is_boolean(mask):
        return None
    for kept, sure in ((False, "certain"), (True, "likely")):
        of = _single(x, kept)
        if not _is_kept(of) and of in _broadcast(mask, kept, 0):
            return sure
    return None


def _is_kept(value: Value) -> bool:
    """`self.x`, which others may set anew."""
    return value.op == "leaf" and value.info[0] == "attribute"


def _single(value: Value, kept: bool, depth: int = 0) -> Value:
    """The first value that has the shape of this one, come what may; `kept`: if what objects keep are numbers."""
    value = base(value)
    if depth > _DEEPEST:
        return value

    def first(of: Value) -> Value:
        return _single(of, kept, depth + 1)

    if value.op in _UNARY:
        return first(value.args[0])
    if value.op in _BINARY and len(value.args) == 2:
        tensors = [a for a in value.args if a.op != "const" and not (kept and _is_kept(a))]
        found = {id(f): f for f in map(first, tensors or value.args)}
        return next(iter(found.values())) if len(found) == 1 else value
    if value.op == "choice":
        found = {id(f): f for f in map(first, value.args)}
        return next(iter(found.values())) if len(found) == 1 else value
    if value.op == "call" and value.args:
        last = _last(value)
        if last in _LIKE or last in _PREDICATES and len(value.args) == 1:
            return first(value.args[0])
        if last in _FILLED:
            of = next((_sized_by(a) for a in value.args[:2] if _sized_by(a)), None)
            return first(of) if of else value
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


def _broadcast(value: Value, kept: bool, depth: int) -> set[Value]:
    """Values whose shapes take part in this one's: it is at least as large as each of them in each dimension."""
    value, found = base(value), {_single(value, kept)}
    parts = value.op in (*_UNARY, *_BINARY) or value.op == "call" and _last(value) in _PREDICATES
    if parts and depth < _DEEPEST:
        for arg in value.args if value.op != "masked_fill" else value.args[:1]:
            found |= _broadcast(arg, kept, depth + 1)
    return found


def is_boolean(value: Value, depth: int = 0) -> bool:
    value = base(value)
    if value.op == "compare":
        return not {"In", "NotIn", "Is", "IsNot"} & {*value.info}
    if value.op in ("not", "BitAnd", "BitOr", "BitXor", "written", "choice") and depth < _DEEPEST:
        return all(is_boolean(a, depth + 1) for a in value.args)
    return value.op == "call" and _last(value) in _PREDICATES


def made_on_host(value: Value, depth: int = 0) -> bool:
    """Whether a factory without a device made it, or a part of it: a tensor of a device would not go with that."""
    if value.op == "call":
        call = value.node
        return value.info[0] in FACTORIES and {k.arg for k in call.keywords}.isdisjoint({"device", "out", None})
    if value.op == "cast" and value.info in ("to", "type_as"):
        return False
    follows = value.op in (*_UNARY, *_BINARY, "cast", "choice") and depth < _DEEPEST
    return follows and (all if value.op == "choice" else any)(made_on_host(a, depth + 1) for a in value.args)


def is_moved_to_host(value: Value) -> bool:
    """`x.cpu()`, and what is made of it element by element."""
    value = base(value)
    while value.op in (*_UNARY, "view", "transpose"):
        value = base(value.args[0])
    return value.op == "call" and _last(value) in ("cpu", "numpy")


def _last(value: Value) -> str:
    return value.info[0].rpartition(".")[2]
