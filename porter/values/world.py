"""Describes what values/values.py, which reads one function, asks values/operations.py, which knows the file.

It is a protocol, because the two modules would import each other without it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from porter.python.index import Node
from porter.python.names import Names
from porter.values.value import Value

_Body = TypeVar("_Body", contravariant=True)
Owner: TypeAlias = "ast.ClassDef | None"  # the class of a method
# Of a class: by attribute of `self`, the values that it is set to.
Members: TypeAlias = "Callable[[ast.ClassDef], Mapping[str, Sequence[Node]]]"


class Operations(Protocol[_Body]):
    names: Names
    members: Members
    remembers: bool
    traces: bool
    functions: dict[tuple[Owner, str], Node]

    def resolve(self, name: str) -> str | None: ...
    def settled(self, owner: Owner, attribute: str) -> Any: ...
    def binary(self, body: _Body, op: str, left: Value, right: Value, node: Node) -> Value: ...
    def part(self, body: _Body, value: Value, index: int, count: int, node: Node) -> Value: ...
    def attribute(self, body: _Body, value: Value, node: ast.Attribute) -> Value: ...
    def subscript(self, body: _Body, value: Value, node: ast.Subscript) -> Value: ...
    def call(self, body: _Body, node: ast.Call) -> Value: ...
