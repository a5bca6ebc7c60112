"""Whether one operator gives the type that the written-out computation gives, for each type that its operands may have.

A model may be float32 or shorter, its weights may have another type than its activations, and autocast may be at work around
it: all of this is decided elsewhere. torch_npu's operators give the type of their first operand (its meta functions say
so), and autocast leaves them alone; what they stand for follows torch's promotion, and autocast's lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from porter.values.patterns import Match
from porter.values.value import Value
from porter.values.views import Users

ALWAYS, FLOAT32, NEVER = "always", "float32", "never"
TYPES = ("float32", "bfloat16", "float16")
AUTOCAST = ("", "bfloat16", "float16")
_NUMBER = ""  # of what is no tensor, and takes the type of the other operand
_PROMOTED = frozenset({"add", "sub", "mul", "div", "cat", "stack", "masked_fill", "choice"})
_KEPT = frozenset("neg tanh erf sigmoid silu gelu sqrt mean half slice index view transpose dropout parts".split())
_SHORT = frozenset({"matmul", "linear"})  # autocast computes them in its type
_LONG = frozenset({"softmax", "layer_norm", "group_norm", "exp", "norm"})  # and these in float32
_POWERS = frozenset({"square", "rsqrt", "pow"})  # these, too, unless they are spelt as a product or a root
_NAMED = {"float": "float32", "half": "float16", "bfloat16": "bfloat16"}
_SPELT = {"torch.float32": "float32", "torch.float": "float32", "torch.float16": "float16", "torch.half": "float16",
          "torch.bfloat16": "bfloat16"}  # fmt: skip
_MOST = 4  # operands


class Raises(Exception):
    """The computation itself does not take these types."""


class Setting(NamedTuple):
    of: dict[Value, str]  # the type of each operand
    autocast: str = ""  # its type, "" outside


def agreement(match: Match, handed: Mapping[str, Value] = MappingProxyType({})) -> str:
    """ALWAYS, FLOAT32: as long as the whole program is, or NEVER; `handed`: what the operator is, where it is no part itself."""
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
    return ALWAYS if all(_agrees(match, setting, handed) for setting in given) else FLOAT32


def type_of(value: Value, setting: Setting) -> str:
    """The type of a value; "" of a number. Raises `Raises` where torch would refuse."""
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
    """Spelt as `pow`, `**`, `rsqrt` or `square`; `x * x` and `1 / sqrt(x)` are left alone."""
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
    raise LookupError  # nobody knows which


def _agrees(match: Match, setting: Setting, handed: Mapping[str, Value]) -> bool:
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
    try:  # what is rounded afterwards may be rounded before
        return bool(users) and all(u.op == "cast" and u.args[0] is root and type_of(u, setting) == fused for u in users)
    except LookupError:
        return False


def _fused(match: Match, setting: Setting, handed: Mapping[str, Value]) -> str:
    """The type of the operator's result, which takes operands of one type alone."""
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
    """What is made of nothing that is known here: a parameter, the result of a module."""
    inside = value.op == "cast" or value.op in _PROMOTED | _KEPT | _POWERS | _LONG
    if not inside or value.op == "dropout":
        if value.op != "const":
            yield value
        return
    for arg in value.args[:1] if value.op not in _PROMOTED else value.args:
        yield from _below(arg)
