"""Records where values go if no other value is computed from them."""

from __future__ import annotations

from porter.values.value import Value


class Traces:
    def __init__(self) -> None:
        self.sizes: dict[Value, list[Value]] = {}  # by a view or a split: its sizes
        self.handed: list[Value] = []  # values in comprehensions, attributes, stars
        self.stored: list[Value] = []  # values that are written into a part of a tensor
