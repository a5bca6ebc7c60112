"""Answers what rules ask about the training step. Rules ask with nodes of LibCST."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from porter.python.index import Link, Node
from porter.training import sizes
from porter.training.context import Context
from porter.training.dynamic_sizes import Flows
from porter.training.loaders import called_by_items, is_dataset
from porter.training.transfers import dataset_moves

if TYPE_CHECKING:
    import libcst as cst

    from porter.training.protocols import File


class Scene(Context):
    def __init__(self, file: File) -> None:
        super().__init__(file)
        self._places: dict[type, dict[tuple[int, int], Link]] = {}
        self._links: dict[type, dict[Node, Link]] = {}

    def link(self, call: cst.Call) -> Link | None:
        """The link of the function that a LibCST call calls."""
        file = self.file
        if type(call.func).__name__ == "Attribute":
            if (link := file.receivers.link(file.span(call.func)[1])) is not None:
                return link
        return file.chain(call.func)

    def link_of(self, node: cst.CSTNode, kind: type) -> Link | None:
        """The link of a LibCST node. `kind`: the type of the node in `ast`."""
        if kind not in self._places:
            span = self.file.source.span
            self._places[kind] = {span(link[0]): link for link in self.file.buckets[kind]}
        return self._places[kind].get(self.file.span(node))

    def link_to(self, node: Node) -> Link | None:
        """The link of a node of `ast`."""
        if node.__class__ not in self._links:
            self._links[node.__class__] = {link[0]: link for link in self.file.buckets.get(node.__class__, ())}
        return self._links[node.__class__].get(node)

    def inside(self, call: cst.Call, pattern: re.Pattern[str], *, dataset: bool = False) -> bool:
        """Whether a call stands in a function with a name that matches, or in a class with such a name. `dataset`: methods that
        give samples count only in classes derived from a dataset."""
        link = self.link(call)
        if link is None or (function := self.function(link)) is None:
            return False
        owner = self.owner(link)
        if dataset and function[0].name in ("__getitem__", "__iter__"):
            return owner is not None and is_dataset(owner)
        return bool(pattern.search(function[0].name) or owner is not None and pattern.search(owner.name))

    def makes_items(self, call: cst.Call) -> bool:
        """Whether a call stands in a method of a dataset that its items are made by, on the CPU."""
        link = self.link(call)
        function, owner = (self.function(link), self.owner(link)) if link is not None else (None, None)
        if function is None or owner is None or not is_dataset(owner) or dataset_moves(self.file):
            return False
        return function[0].name in called_by_items(owner)

    @cached_property
    def flows(self) -> Flows:
        return Flows(self.file)

    @cached_property
    def first_sizes(self) -> dict[tuple[str, int], tuple[int, int]]:
        return sizes.first_places(self)
