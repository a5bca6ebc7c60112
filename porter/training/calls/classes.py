"""The classes of a project and what they derive from, by names and imports."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from porter.training.calls.outline import Outline


class Class(NamedTuple):
    path: str
    name: str


class Heirs:
    def __init__(self, outlines: Mapping[str, Outline]):
        self._outlines = outlines

    @cached_property
    def _named(self) -> dict[str, list[Class]]:
        found: dict[str, list[Class]] = {}
        for path, outline in self._outlines.items():
            for name in outline.classes:
                found.setdefault(name, []).append(Class(path, name))
        return found

    @cached_property
    def _bases(self) -> dict[Class, list[Class]]:
        return {of: self._resolved(of, bases) for of, bases in self._said() if bases}

    def _said(self):
        for path, outline in self._outlines.items():
            for name, bases in outline.classes.items():
                yield Class(path, name), bases

    def _resolved(self, of: Class, bases: tuple[str, ...]) -> list[Class]:
        """A base is a class of the same file, or the only one of its name that the project has."""
        outline, found = self._outlines[of.path], []
        for base in bases:
            if base in outline.classes and base != of.name:
                found.append(Class(of.path, base))
            elif len(known := self._named.get(base, ())) == 1 and known[0] != of:
                found.append(known[0])
        return found

    @cached_property
    def _children(self) -> dict[Class, list[Class]]:
        found: dict[Class, list[Class]] = {}
        for of, bases in self._bases.items():
            for base in bases:
                found.setdefault(base, []).append(of)
        return found

    def named(self, name: str) -> list[Class]:
        return self._named.get(name, [])

    def above(self, of: Class) -> set[Class]:
        return _closure(of, self._bases)

    def below(self, of: Class) -> set[Class]:
        return _closure(of, self._children)

    def family(self, of: Class) -> set[Class]:
        """A class, what it derives from, and what derives from it."""
        return {of} | self.above(of) | self.below(of)


def _closure(of: Class, steps: Mapping[Class, list[Class]]) -> set[Class]:
    found: set[Class] = set()
    todo = [of]
    while todo:
        for one in steps.get(todo.pop(), ()):
            if one not in found and one != of:
                found.add(one)
                todo.append(one)
    return found
