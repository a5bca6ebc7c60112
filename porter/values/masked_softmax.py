"""Finds a softmax of scores that are masked with minus infinity, and that are no attention that one call can compute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.python.evidence import call_name
from porter.regex import lazy
from porter.values.attention import SHAPES, holds_product, is_least, products
from porter.values.value import Value
from porter.values.values import Body
from porter.values.views import Users, base

# names of scores, of functions that mask, and of classes that are a softmax
_SCORES = lazy(r"(?i)scor|atte?n|energy|sim(?:ilarit\w+)?$")
_MASKS = lazy(r"(?i)mask")
_SOFTMAX = lazy(r"(?i)softmax")


def find(body: Body, softmax: Value, users: Users) -> Iterator[dict[str, Value]]:
    """The parts of a masked softmax: its mask."""
    if softmax.info not in (-1, 3):
        return
    filled = _Filled()
    filled.read(softmax.args[0])
    if filled.mask is None or filled.changed or any(map(_adds_a_dimension, users.of(softmax))):
        return
    if any(map(holds_product, filled.below)) or any(_is_handed_in(body, softmax, v, users) for v in filled.below):
        yield {"mask": filled.mask}


class _Filled:
    """Finds a mask and the values into which it is filled, through casts, scales and changes of shape."""

    def __init__(self) -> None:
        self.mask: Value | None = None
        self.below: list[Value] = []
        self.changed = False  # there is another function between the mask and the softmax
        self._visited: set[tuple[Value, bool]] = set()

    def read(self, value: Value, filled: bool = False) -> None:
        value = base(value)
        if (value, filled) in self._visited:
            return
        self._visited.add((value, filled))
        op, args = value.op, value.args
        if op == "masked_fill" and is_least(args[2]):
            self.mask = args[1]
            self.read(args[0], True)
        elif op == "where" and any(map(is_least, args[1:])):
            self.mask = args[0]
            self.read(args[1] if is_least(args[2]) else args[2], True)
        elif op == "call" and len(args) == 2 and _MASKS.search(str(value.info[0])):
            self.mask = args[1]
            self.read(args[0], True)
        elif op == "view" and _joins(value):
            return
        elif op == "choice" or op in SHAPES:
            for arg in args if op == "choice" else args[:1]:
                self.read(arg, filled)
        elif op in ("mul", "div"):
            for arg in args:
                if base(arg).op not in ("const", "rsqrt", "sqrt"):
                    self.read(arg, filled)
        elif filled:
            self.below.append(value)
        elif op == "call" and any(map(holds_product, args)):
            self.changed = True


def _adds_a_dimension(value: Value) -> bool:
    """Whether weights become a row for a product, `weights.unsqueeze(1) @ v`: they are of one query, and no matrix for each head."""
    return value.op == "view" and value.node.__class__ is ast.Call and call_name(value.node.func) == "unsqueeze"


def _joins(value: Value) -> bool:
    """Whether a change of shape joins or removes dimensions, so that the scores are no matrix for each head."""
    call = value.node
    return call.__class__ is ast.Call and call_name(call.func) in ("flatten", "squeeze")


def _is_handed_in(body: Body, softmax: Value, value: Value, users: Users) -> bool:
    """Whether a value is a parameter with scores that another function made, and a product uses the weights."""
    if value.op != "leaf" or value.info[0] != "parameter":
        return False
    if body.owner is not None and _SOFTMAX.search(body.owner.name):
        return True
    return bool(_SCORES.search(value.info[1])) and any(products(softmax, users, set()))
