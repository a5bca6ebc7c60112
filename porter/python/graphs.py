"""Walks graphs: what can be reached along edges, and what classes derive from each other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


def reached(start: Iterable[Node], edges: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """All nodes that can be reached along edges from `start`, including `start`."""
    todo = list(start)
    nodes = set(todo)
    while todo:
        fresh = {*edges(todo.pop())} - nodes
        nodes |= fresh
        todo += fresh
    return nodes


class ClassTree(Generic[Node]):
    """Answers which classes derive from which. `bases`: the bases of each class. Every answer includes the class itself."""

    def __init__(self, bases: Mapping[Node, Iterable[Node]]) -> None:
        self._bases = bases
        self._derived: dict[Node, list[Node]] = {}
        for heir, parents in bases.items():
            for base in parents:
                self._derived.setdefault(base, []).append(heir)

    def line(self, node: Node) -> set[Node]:
        """The class and all classes that it derives from."""
        return reached([node], lambda heir: self._bases.get(heir, ()))

    def heirs(self, node: Node) -> set[Node]:
        """The class and all classes that derive from it."""
        return reached([node], lambda base: self._derived.get(base, ()))

    def family(self, node: Node) -> set[Node]:
        """Both together."""
        return self.line(node) | self.heirs(node)
