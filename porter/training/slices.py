"""Slices whose length no data knows, whatever place they begin at."""

from __future__ import annotations

from porter.values.value import Value

_SIDES = 2  # of a sum


def is_as_long(first: Value, stop: Value, step: Value) -> bool:
    """Whether the bounds of a slice are a number apart: `x[:, action : action + 1]` picks one column, whichever it is."""
    return step.op == "const" and first.op != "const" and _without_number(first) is _without_number(stop)


def _without_number(bound: Value) -> Value:
    """What a number is added to, or taken from: `action` of `action + 1`."""
    if bound.op not in ("add", "sub") or len(bound.args) != _SIDES:
        return bound
    left, right = bound.args
    if right.op == "const":
        return left
    return right if left.op == "const" and bound.op == "add" else bound
