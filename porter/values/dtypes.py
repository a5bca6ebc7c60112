"""Says whether one operator gives the same type as the computation that it replaces, for all types of its operands.

A model may be float32 or shorter, its weights may have another type than its activations, and autocast may be on. All of this
is decided elsewhere, so each case is tried. Operators of torch_npu give the type of their first operand (see its meta functions),
and autocast does not change them. The replaced computation follows torch's promotion of types, and the lists of autocast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from porter.values.patterns import Match
from porter.values.value import Value
from porter.values.views import Users

ALWAYS, IF_ALL_FLOAT32, NEVER = "always", "float32", "never"  # answers of `agreement`, no types of tensors
TYPES = ("float32", "bfloat16", "float16")
AUTOCAST = ("", "bfloat16", "float16")  # the type of autocast; "" without autocast
_NUMBER = ""  # the type of a number, which takes the type of the other operand
# operations whose result has the promoted type of their operands
_PROMOTED = frozenset({"add", "sub", "mul", "div", "cat", "stack", "masked_fill", "choice"})
# operations that keep the type of their operand
_KEPT = frozenset("neg tanh erf sigmoid silu gelu sqrt mean half slice index view transpose dropout parts".split())
_SHORT = frozenset({"matmul", "linear"})  # autocast computes these in its own type
_LONG = frozenset({"softmax", "layer_norm", "group_norm", "exp", "norm"})  # autocast computes these in float32
_POWERS = frozenset({"square", "rsqrt", "pow"})  # these, too, unless they are written as a product or a root
_NAMED = {"float": "float32", "half": "float16", "bfloat16": "bfloat16"}
_SPELT = {"torch.float32": "float32", "torch.float": "float32", "torch.float16": "float16", "torch.half": "float16",
          "torch.bfloat16": "bfloat16"}  # fmt: skip
_MOST = 4  # operands


class Raises(Exception):
    """The computation itself does not take these types."""


class Setting(NamedTuple):
    """One case of types."""

    of: dict[Value, str]  # the type of each operand
    autocast: str = ""  # the type of autocast; "" without


def agreement(match: Match, handed: Mapping[str, Value] = MappingProxyType({})) -> str:
    """When the types agree: ALWAYS, IF_ALL_FLOAT32 (if the whole program is) or NEVER. `handed`: values that the operator gets
    in place of parts of the match."""
    operands = tuple(dict.fromkeys(_operands(match)))
    if match.root is None or match.body is None or not operands or len(operands) > _MOST:
        return NEVER
    if not _agrees(match, Setting(dict.fromkeys(operands, TYPES[0])), handed):
        return NEVER
    given = (
        Setting(dict(zip(operands, types)), autocast)
        for autocast in AUTOCAST
        for types in product(TYPES, repeat=len(operands))
    )
    return ALWAYS if all(_agrees(match, setting, handed) for setting in given) else IF_ALL_FLOAT32


def type_of(value: Value, setting: Setting) -> str:
    """The type of a value; "" for a number. Raises `Raises` where torch would raise, and LookupError where it is not known."""
    if value in setting.of:
        return setting.of[value]
    op = value.op
    if op == "cast":
        return _cast(value, setting)
    if op == "masked_fill" or op in _KEPT:
        return type_of(value.args[0], setting)
    if op in _PROMOTED:
        return promoted([type_of(a, setting) for a in value.args])
    if op in _POWERS:
        kind = promoted([type_of(a, setting) for a in value.args])
        return "float32" if kind and setting.autocast and _is_power(value) else kind
    if op in _SHORT:
        return _product([type_of(a, setting) for a in value.args], setting)
    if op in _LONG:
        kind = type_of(value.args[0], setting)
        return "float32" if kind and setting.autocast else kind
    return _NUMBER


def promoted(types: list[str]) -> str:
    tensors = {kind for kind in types if kind}
    return next(iter(tensors), _NUMBER) if len(tensors) < 2 else "float32"


def _product(types: list[str], setting: Setting) -> str:
    if setting.autocast:
        return setting.autocast
    if len({*types}) > 1:
        raise Raises
    return types[0]


def _is_power(value: Value) -> bool:
    """Whether a power is written as `pow`, `**`, `rsqrt` or `square`. Autocast does not change `x * x` and `1 / sqrt(x)`."""
    node = value.node
    name = getattr(getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", ""))
    if node.__class__.__name__ == "Call":
        return name not in ("sqrt", "mul", "multiply")
    return getattr(node, "op", None).__class__.__name__ == "Pow"


def _cast(value: Value, setting: Setting) -> str:
    old, named = type_of(value.args[0], setting), _NAMED.get(value.info)
    if named or len(value.args) != 2:
        return named or old
    kind = value.args[1]
    if value.info == "type_as":
        return type_of(kind, setting)
    if kind.op == "attribute" and kind.info == "dtype":
        return type_of(kind.args[0], setting)
    if kind.op == "leaf" and kind.info[1] in _SPELT:
        return _SPELT[kind.info[1]]
    raise LookupError  # the type is not known


def _agrees(match: Match, setting: Setting, handed: Mapping[str, Value]) -> bool:
    """Whether the types agree in one case."""
    root = match.root
    assert root is not None and match.body is not None
    try:
        written = type_of(root, setting)
    except Raises:
        return True
    except LookupError:
        return False
    try:
        fused = _fused(match, setting, handed)
    except (Raises, LookupError):
        return False
    if written == fused:
        return True
    users = Users(match.body).of(root)
    try:  # a result that is cast to this type afterwards may have it before
        return bool(users) and all(u.op == "cast" and u.args[0] is root and type_of(u, setting) == fused for u in users)
    except LookupError:
        return False


def _fused(match: Match, setting: Setting, handed: Mapping[str, Value]) -> str:
    """The type of the operator's result. All its operands must have one type."""
    if match.kind == "attention":  # the dispatcher casts for scaled_dot_product_attention
        return _product([setting.of[o] for o in setting.of], setting)
    types = [type_of(handed.get(name, value), setting) for name, value in _tensors(match)]
    if len({*types}) > 1:
        raise Raises
    return types[0]


def _tensors(match: Match) -> list[tuple[str, Value]]:
    return [(name, match.parts[name]) for name in ("x", "weight", "cos", "sin") if name in match.parts]


def _operands(match: Match) -> Iterator[Value]:
    if match.kind != "attention":
        for _, value in _tensors(match):
            yield from _below(value)
    elif match.root is not None and match.parts["scores"].op == match.root.op == "matmul":
        query, key = match.parts["scores"].args
        for value in (query, key, match.root.args[1]):
            yield from _below(value)


def _below(value: Value) -> Iterator[Value]:
    """The values whose types are not known here, from which a value is computed: parameters, results of modules."""
    inside = value.op == "cast" or value.op in _PROMOTED | _KEPT | _POWERS | _LONG
    if not inside or value.op == "dropout":
        if value.op != "const":
            yield value
        return
    for arg in value.args[:1] if value.op not in _PROMOTED else value.args:
        yield from _below(arg)
