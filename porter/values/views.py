"""Looks at values for the recognisers of patterns: below casts and choices, at factors, halves and users."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from porter.values.value import Value
from porter.values.values import Body


def base(value: Value) -> Value:
    """The value below casts. A choice whose branches all have the same base is that base."""
    if value.plain:
        return value
    if value.under is None:
        under = value
        while under.op == "cast":
            under = under.args[0]
        if under.op == "choice":
            bases = {id(b): b for b in map(base, under.args)}
            under = next(iter(bases.values())) if len(bases) == 1 else under
        if under is value:
            value.plain = True
            return value
        value.under = under
    return value.under


def unshaped(value: Value) -> Value:
    """The value below casts and changes of shape."""
    value = base(value)
    while value.op in ("view", "transpose"):
        value = base(value.args[0])
    return value


def factors(value: Value, depth: int = 0) -> list[Value]:
    """The factors of a product, below casts."""
    value = base(value)
    if value.op == "square":
        return [base(value.args[0])] * 2
    if value.op != "mul" or depth > 5:
        return [value]
    return [f for side in value.args for f in factors(side, depth + 1)]


def is_weight(value: Value) -> bool:
    """Whether a value is a weight: a parameter of a module, or an argument. In some models (Gemma) it is 1 + weight."""
    value = base(value)
    if value.op == "add":
        first, second = value.args
        return first.op == "const" and is_weight(second) or second.op == "const" and is_weight(first)
    if value.op == "choice":
        return all(map(is_weight, value.args))
    return (
        value.op == "leaf"
        and value.info[0] in ("attribute", "parameter")
        or value.op == "attribute"
        and value.info == "weight"
    )


def half(value: Value) -> tuple[Value, int, str, object] | None:
    """If a value is one half of another along the last dimension: (the other, 0 or 1 for the first or second half, "half" or
    "interleave", where it is cut). The last dimension is -1, or 3 of four; after an inserted dimension it is 4."""
    value = base(value)
    if value.op == "half" and value.info[1] in (-1, 3):
        return base(value.args[0]), value.info[0], "half", None
    if value.op == "index" and value.info[1] in (-1, 3, 4) and value.info[0] in (0, 1):
        return unshaped(value.args[0]), value.info[0], "interleave", None
    if value.op == "slice":
        x, *bounds = value.args
        low, high, step = (None if v.op == "const" and v.info is None else v for v in bounds)
        start = 0 if low is None else low.info if low.op == "const" else None
        first = start == 0
        if step is not None:
            if step.op == "const" and step.info == 2 and high is None and (first or start == 1):
                return base(x), int(not first), "interleave", None
        elif any(v is not None and v.op == "const" and v.info in (1, -1) for v in (low, high)):
            return None  # what is of width 1 is spread over the rest, however wide that is
        elif first and high is not None:
            return base(x), 0, "half", high
        elif low is not None and not first and high is None:  # a part up to another bound may leave some of it out
            return base(x), 1, "half", low
    return None


def halves(a: Value, b: Value) -> tuple[Value, int, str] | None:
    """If two values are the two halves of one tensor: (the tensor, 0 or 1 for `a`, "half" or "interleave")."""
    first, second = half(a), half(b)
    if first is None or second is None or first[0] is not second[0] or first[1] == second[1] or first[2:] != second[2:]:
        return None
    return first[0], first[1], first[2]


def below(value: Value) -> Iterator[Value]:
    """All values from which a value is computed, each once. The value itself comes first."""
    known, stack = {value}, [value]
    while stack:
        inner = stack.pop()
        yield inner
        stack += [a for a in dict.fromkeys(reversed(inner.args)) if a not in known]
        known.update(inner.args)


class Users:
    """The users of the values of a function: the values that are computed from them."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self._by_argument: dict[Value, list[Value]] = defaultdict(list)
        for value in body.made:
            for arg in dict.fromkeys(value.args):
                self._by_argument[arg].append(value)

    def of(self, value: Value) -> list[Value]:
        return self._by_argument.get(value, [])

    def through_casts(self, value: Value) -> Iterator[Value]:
        """The users of a value, also of its casts, and of choices of which it is the base."""
        for user in self.of(value):
            if user.op == "cast" or user.op == "choice" and base(user) is base(value):
                yield from self.through_casts(user)
            else:
                yield user
