"""Finds branches on a parameter that no call for a batch takes, because all these calls pass constants, and parameters that
none of them gives a value."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from porter.python.index import Link, Node, owner_of
from porter.python.parameters import defaults, parameters

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


def is_never_taken(scene: AnyContext, test: Node, inside: bool, function: Link) -> bool:
    """Whether a branch runs in none of the calls. `inside`: it is the branch for a condition that is true."""
    asked = _asked(test)
    if asked is None or asked[0] not in parameters(function[0]) or asked[0] in scene.natures.asked(function[0])[1]:
        return False
    name, holds = asked
    calls = scene.callers.for_batches(function)
    values = [_given(name, call, function) for call in calls or ()]
    return bool(values) and all(v.__class__ is ast.Constant and holds(v.value) is not inside for v in values)


def is_never_handed(scene: AnyContext, name: str, function: Link) -> bool:
    """Whether a parameter is None in all calls for a batch: each leaves it out, or passes None."""
    if name not in parameters(function[0]):
        return False
    values = [_given(name, call, function) for call in scene.callers.for_batches(function) or ()]
    return bool(values) and all(v.__class__ is ast.Constant and v.value is None for v in values)


def _asked(test: Node) -> tuple[str, Callable[[Any], bool]] | None:
    """(name, function that evaluates the condition) for a condition on one name: `reduction == "mean"`, `not size_average`."""
    if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        inner = _asked(test.operand)
        return inner and (inner[0], lambda value: not inner[1](value))
    if test.__class__ is ast.Name:
        return test.id, bool
    if test.__class__ is not ast.Compare or test.left.__class__ is not ast.Name or len(test.ops) != 1:
        return None
    wanted, compare = test.comparators[0], _OPERATORS.get(test.ops[0].__class__)
    if wanted.__class__ is not ast.Constant or compare is None:
        return None
    return test.left.id, lambda value: bool(compare(value, wanted.value))


def _given(name: str, call: Node, function: Link) -> Node:
    """The value that a call gives a parameter; None where that is not known."""
    named = {k.arg: k.value for k in call.keywords}
    if None in named or any(a.__class__ is ast.Starred for a in call.args):
        return None
    handed = parameters(function[0])[owner_of(function) is not None :]
    place = handed.index(name) if name in handed else len(call.args)
    return call.args[place] if place < len(call.args) else named.get(name, defaults(function[0]).get(name))
