"""Finds rotary position embedding among the values of a function: with halves or neighbours, or with complex numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.regex import lazy
from porter.values.value import Value
from porter.values.values import Body
from porter.values.views import Users, base, factors, half, halves, unshaped

# names of cosines and sines
_ANGLES = lazy(r"(?i)cos|sin(?![a-z])|cis|freq|theta|angle|phase|polar|rope|rot[ae]")
_MANY = 50  # values that are looked at


def find(body: Body, users: Users) -> Iterator[tuple[str, ast.Call, Value | None, dict[str, Value]]]:
    """(message, place, value that one operator would compute, parts) of each rotation."""
    for value in body.made:
        if value.op in ("cat", "stack") and len(value.args) == 2:
            if rotation := turned(value):
                x, mode = rotation
                roots = list(_sums(value, x, users))
                for root, cos, sin in roots:
                    yield mode, value.node, root, {"x": x, "cos": cos, "sin": sin}
                if not roots:
                    yield mode, value.node, None, {"x": x}
            elif mode := _apart(value, body):
                yield f"{mode}-apart", value.node, None, {}
        elif value.op == "view_as_complex" and _turns(value, users):
            yield "complex", value.node, None, {}


def turned(value: Value) -> tuple[Value, str] | None:
    """(x, "half" or "interleave") for the values `cat((-x2, x1))` and `stack((-x2, x1))`."""
    if value.info not in (-1, 3, 4):
        return None
    minus, plain = (base(a) for a in value.args)
    if minus.op == "neg":
        minus = minus.args[0]
    elif minus.op == "mul" and any(a.op == "const" and a.info == -1 for a in minus.args):
        minus = next(a for a in minus.args if a.op != "const")
    else:
        return None
    both_halves = halves(minus, plain)
    if both_halves is None or both_halves[1] != 1 or (both_halves[2] == "half") != (value.op == "cat"):
        return None
    return both_halves[0], both_halves[2]


def _sums(value: Value, x: Value, users: Users) -> Iterator[tuple[Value, Value, Value]]:
    """(sum, cos, sin) of each x * cos + turned * sin."""
    around = [value]
    for inner in around:
        for user in users.of(inner):
            if user.op in ("view", "cast") and user not in around:
                around.append(user)
            elif user.op == "mul":
                sin = next((a for a in user.args if a is not inner), None)
                for plus in users.through_casts(user):
                    if plus.op != "add" or sin is None:
                        continue
                    other = next((base(a) for a in plus.args if base(a) is not user), None)
                    if other is not None and other.op == "mul":
                        cos = [a for a in other.args if base(a) is not x]
                        if len(cos) == 1:
                            yield plus, cos[0], sin


def _apart(value: Value, body: Body) -> str:
    """The mode ("half", "interleave") of the value `cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin))`; "" for others."""
    minus, plus = (unshaped(a) for a in value.args)
    if minus.op != "sub" or plus.op != "add" or value.info not in (-1, 3, 4):
        return ""
    (a, b), (c, d) = minus.args, plus.args
    first, second, third, fourth = (_halved(v) for v in (a, b, c, d))
    if first is None or second is None or third is None or fourth is None:
        return ""
    if halves(first[0], second[0]) is None or {id(first[0]), id(second[0])} != {id(third[0]), id(fourth[0])}:
        return ""
    numbers = halves(first[1][0], second[1][0]) or _are_parts(first[1][0], second[1][0])
    if numbers and not _is_angle(first[1][0], body):
        return ""  # a product of two complex numbers, which may be no rotation
    cos, sin = {id(v) for v in first[1]}, {id(v) for v in second[1]}
    crossed = first[0] is fourth[0]
    if ({id(v) for v in third[1]}, {id(v) for v in fourth[1]}) != ((cos, sin) if crossed else (sin, cos)):
        return ""
    cut = half(first[0])
    return cut[2] if cut else ""


def _are_parts(one: Value, other: Value) -> bool:
    """`z.real` and `z.imag`"""
    attributes = (one.op, other.op) == ("attribute", "attribute") and (one.info, other.info) == ("real", "imag")
    return attributes and one.args[:1] == other.args[:1]


def _is_angle(value: Value, body: Body) -> bool:
    """Whether a name says that a value is one of cosines or sines: a name in its computation, or that of the function."""
    words, values = [getattr(body.function, "name", "")], [value]
    for inner in values:
        words += [
            word for word in (inner.info if inner.info.__class__ is tuple else (inner.info,)) if type(word) is str
        ]
        values += (arg for arg in inner.args if arg not in values and len(values) < _MANY)
    return any(map(_ANGLES.search, words))


def _halved(value: Value) -> tuple[Value, list[Value]] | None:
    """(factor that is a half of a tensor, other factors) of a product."""
    parts = factors(value)
    halved = [p for p in parts if half(p)]
    if len(halved) > 1:  # tables of cosines may be halves, too; the tensor comes first
        halved = halved[:1]
    return (halved[0], [p for p in parts if p is not halved[0]]) if len(halved) == 1 and len(parts) == 2 else None


def _turns(value: Value, users: Users) -> bool:
    """Whether complex numbers are multiplied and become real numbers again."""
    return any(
        user.op == "mul" and any(u.op == "view_as_real" for u in users.through_casts(user))
        for user in users.through_casts(value)
    )
