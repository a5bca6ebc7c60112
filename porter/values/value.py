"""What an expression is, by what made it (values/values.py)."""

from __future__ import annotations

from typing import Any

from porter.python.index import Node


class Value:
    """Equal values of one function are one object."""

    __slots__ = ("op", "args", "info", "node", "under", "plain")

    def __init__(self, op: str, args: tuple[Value, ...], info: Any, node: Node):
        self.op, self.args, self.info, self.node = op, args, info, node  # node: the expression that made it first
        self.under: Value | None = None  # what it is a cast of, once that was asked for
        self.plain = False  # it is known to be no cast; `under` would be itself, and nothing may point back

    def __repr__(self) -> str:
        inner = [*map(repr, self.args), *([repr(self.info)] if self.info is not None else [])]
        return f"{self.op}({', '.join(inner)})"
