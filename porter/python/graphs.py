"""What can be reached along edges, and what a class derives from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


def reached(start: Iterable[Node], edges: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """All that can be reached along edges, what it starts from included."""
    todo = list(start)
    found = set(todo)
    while todo:
        fresh = {*edges(todo.pop())} - found
        found |= fresh
        todo += fresh
    return found


class ClassTree(Generic[Node]):
    """Of classes whose bases are known; a class belongs to its own line and to its own heirs."""

    def __init__(self, bases: Mapping[Node, Iterable[Node]]) -> None:
        self._bases = bases
        self._derived: dict[Node, list[Node]] = {}
        for one, parents in bases.items():
            for base in parents:
                self._derived.setdefault(base, []).append(one)

    def line(self, one: Node) -> set[Node]:
        """A class, and what it derives from."""
        return reached([one], lambda at: self._bases.get(at, ()))

    def heirs(self, one: Node) -> set[Node]:
        """A class, and what derives from it."""
        return reached([one], lambda at: self._derived.get(at, ()))

    def family(self, one: Node) -> set[Node]:
        return self.line(one) | self.heirs(one)
