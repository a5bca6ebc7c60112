"""Finds the classes of a project and their bases, by names alone. Imports are not resolved."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from porter.python.graphs import ClassTree
from porter.training.calls.outline import Outline


class Class(NamedTuple):
    path: str
    name: str


class Classes:
    def __init__(self, outlines: Mapping[str, Outline]):
        self._outlines = outlines

    @cached_property
    def _named(self) -> dict[str, list[Class]]:
        classes: dict[str, list[Class]] = {}
        for path, outline in self._outlines.items():
            for name in outline.classes:
                classes.setdefault(name, []).append(Class(path, name))
        return classes

    def named(self, name: str) -> list[Class]:
        return self._named.get(name, [])

    @cached_property
    def tree(self) -> ClassTree[Class]:
        classes = ((path, *item) for path, outline in self._outlines.items() for item in outline.classes.items())
        return ClassTree(
            {Class(path, name): self._resolved(path, name, bases) for path, name, bases in classes if bases}
        )

    def _resolved(self, path: str, name: str, bases: tuple[str, ...]) -> list[Class]:
        """The bases of a class that are known: classes of the same file, or the only class of a name in the project."""
        outline, resolved = self._outlines[path], []
        for base in bases:
            if base in outline.classes and base != name:
                resolved.append(Class(path, base))
            elif len(namesakes := self.named(base)) == 1 and namesakes[0] != (path, name):
                resolved.append(namesakes[0])
        return resolved
