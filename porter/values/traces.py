"""Where values go that no value follows from."""

from __future__ import annotations

from porter.values.value import Value


class Traces:
    def __init__(self) -> None:
        self.sizes: dict[Value, list[Value]] = {}  # the sizes that a view or a split is given
        self.handed: list[Value] = []  # what goes into comprehensions, attributes, stars
        self.stored: list[Value] = []  # what is written into a part of a tensor


def sized(body, op: str, value: Value, info, sizes: list[Value], node) -> Value:
    """A view or a split of a value, with the sizes that it is given."""
    made = body.make(op, (value,), info, node)
    if sizes and body.world.traces:
        body.traces.sizes[made] = sizes
    return made
