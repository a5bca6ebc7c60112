"""Finds GELU that is written out: evaluates a computation with `erf`, `tanh` or `sigmoid` for some numbers, and compares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from porter.values.value import Value
from porter.values.views import Users, base

_POINTS = (-2.7, -1.1, -0.3, 0.4, 0.9, 1.7, 3.2)  # numbers for x
_NEAR = 2e-6  # the allowed difference: some models write 1.41421 for the root of two
_NUMBERS = {"math.pi": math.pi, "numpy.pi": math.pi, "torch.pi": math.pi}
_HIGHEST = 1e9  # of constants: no GELU has a larger one, and powers of such overflow
_LARGEST = 40  # values that are tried as x
# by kind of GELU: the function
KINDS: dict[str, Callable[[float], float]] = {
    "erf": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    "tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "sigmoid": lambda x: x / (1 + math.exp(-1.702 * x)),
}
_OPERATIONS: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "square": lambda a: a * a,
    "neg": lambda a: -a,
    "sqrt": math.sqrt,
    "rsqrt": lambda a: 1 / math.sqrt(a),
    "tanh": math.tanh,
    "erf": math.erf,
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)),
}


def find(value: Value, users: Users) -> Iterator[tuple[str, Value, Value]]:
    """(kind, value of the whole GELU, x) around a `tanh`, `erf` or `sigmoid`."""
    atoms = _atoms(value)
    if not atoms or len(users.of(value)) > 1 or value.op == "sigmoid" and base(value.args[0]).op not in ("mul", "div"):
        return
    around: list[Value] = []
    level = [value]
    # one is added, it is halved and multiplied by x, in any order, and now and then by a constant
    for _ in range(5):
        level = list(dict.fromkeys(u for v in level for u in users.through_casts(v) if u.op in ("mul", "div", "add")))
        around += level
    wanted = KINDS[value.op]
    for root in around:
        for x in atoms:
            results = [_number(root, x, point, {}) for point in _POINTS]
            if all(r is not None and abs(r - wanted(p)) < _NEAR for r, p in zip(results, _POINTS)):
                yield value.op, root, x
                return


def _atoms(value: Value) -> list[Value]:
    """The values that may be x: all from which a value is computed, except numbers."""
    atoms: list[Value] = []
    stack = list(map(base, value.args))
    while stack and len(atoms) < _LARGEST:
        inner = stack.pop()
        if inner in atoms or inner.op == "const" or inner.op == "leaf" and inner.info[1] in _NUMBERS:
            continue
        atoms.append(inner)
        if inner.op in _OPERATIONS:
            stack += map(base, inner.args)
    return atoms


def _number(value: Value, x: Value, number_of_x: float, known: dict[Value, float | None]) -> float | None:
    """A value as a number, if x is this number; None where it depends on anything else."""
    value = base(value)
    if value is x:
        return number_of_x
    if value in known:
        return known[value]
    known[value] = None
    if value.op == "const":
        # as a float, because a power of ints may take for ever
        number = float(value.info) if type(value.info) in (int, float) and abs(value.info) < _HIGHEST else None
    elif value.op == "leaf":
        number = _NUMBERS.get(value.info[1])
    elif value.op in ("call", "cast") and len(value.args) == 1 and value.info[0] in ("torch.tensor", "torch.ones_like"):
        number = 1.0 if value.info[0] == "torch.ones_like" else _number(value.args[0], x, number_of_x, known)
    elif value.op in _OPERATIONS:
        numbers = [_number(a, x, number_of_x, known) for a in value.args]
        try:
            number = None if None in numbers else _OPERATIONS[value.op](*numbers)
        except (ArithmeticError, ValueError, TypeError):
            number = None
    else:
        number = None
    known[value] = number
    return number
