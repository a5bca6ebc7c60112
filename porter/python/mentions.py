"""Finds where a file mentions a name, in order. Rules that say something once for a file need that."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cached_property
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
            words = self.file.source.words  # what a file does not say, it does not mean, whatever it imports
            names_said = [name for name in names if name.rpartition(".")[2].encode() in words]
            # of `torch.cuda.amp`, which means two of the names, the shorter chain
            first: dict[int, tuple[int, Link]] = {}
            for name in names_said:
                for use, length, link in self._meant.get(name, ()):
                    if use not in first or length < first[use][0]:
                        first[use] = length, link
            self._known[names] = sorted((link for _, link in first.values()), key=self._start)
        return self._known[names]

    def _start(self, link: Link) -> tuple[int, int]:
        return self.file.source.span(link[0])

    @cached_property
    def _meant(self) -> dict[str, list[tuple[int, int, Link]]]:
        """By full name: the number of a use, the length of its chain, and the chain."""
        names, meant = self.file.names, defaultdict[str, list[tuple[int, int, Link]]](list)
        for number, link in enumerate(names.uses):
            if link[0].ctx.__class__ is ast.Load and names.known(link[0].id):
                length = 0
                while link is not None and link[0].__class__ in (ast.Name, ast.Attribute):
                    if full := names.resolve(link[0], link):
                        meant[full].append((number, length, link))
                    link, length = link[1], length + 1
        return meant

    def is_first(self, node: Node, names: frozenset[str]) -> bool:
        """Whether no mention of one of these names stands before this one."""
        first = next(iter(self.of(names)), None)
        return first is not None and self.file.source.span(first[0])[0] == self.file.span(node)[0]
