"""Where values go that no value follows from."""

from __future__ import annotations

from porter.values.value import Value


class Traces:
    def __init__(self) -> None:
        self.sizes: dict[Value, list[Value]] = {}  # the sizes that a view or a split is given
        self.handed: list[Value] = []  # what goes into comprehensions, attributes, stars
        self.stored: list[Value] = []  # what is written into a part of a tensor
