"""Holds what an expression computes: an operation and its operands (values/values.py)."""

from __future__ import annotations

from typing import Any

from porter.python.index import Node


class Value:
    """An operation with its operands. Equal values of one function are one object."""

    __slots__ = ("op", "args", "info", "node", "under", "plain")

    def __init__(self, op: str, args: tuple[Value, ...], info: Any, node: Node):
        self.op, self.args, self.info, self.node = op, args, info, node  # node: the first expression with this value
        self.under: Value | None = None  # the value below casts, once `base` was asked
        self.plain = False  # it is no cast. `under` is not set to the value itself, as that would be a cycle

    def __repr__(self) -> str:
        inner = [*map(repr, self.args), *([repr(self.info)] if self.info is not None else [])]
        return f"{self.op}({', '.join(inner)})"
