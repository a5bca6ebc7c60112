"""Finds where a file mentions a name, in order. Rules that say something once for a file need that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.python.file import File


class Mentions:
    def __init__(self, file: File) -> None:
        self.file = file
        self._known: dict[frozenset[str], list[Link]] = {}

    def of(self, names: frozenset[str]) -> list[Link]:
        """The chains of the file that mean one of these full names, in order."""
        if names not in self._known:
            self._known[names] = sorted(self._search(names), key=lambda link: self.file.source.span(link[0]))
        return self._known[names]

    def _search(self, names: frozenset[str]) -> Iterator[Link]:
        resolve = self.file.names.resolve
        for link in self.file.names.uses:
            if link[0].ctx.__class__ is not ast.Load or not self.file.names.known(link[0].id):
                continue
            while link is not None and link[0].__class__ in (ast.Name, ast.Attribute):
                if resolve(link[0], link) in names:
                    yield link
                    break
                link = link[1]

    def is_first(self, node: Node, names: frozenset[str]) -> bool:
        """Whether no mention of one of these names stands before this one."""
        first = next(iter(self.of(names)), None)
        return first is not None and self.file.source.span(first[0])[0] == self.file.span(node)[0]
