"""What rules ask of the training step, with the nodes of LibCST that they see."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from porter.python.evidence import call_name
from porter.python.index import Link
from porter.training import keyword_options, mask_queries, masks, order, padding, sizes, transfers, value_uses
from porter.training.context import Context


class Scene(Context):
    def __init__(self, file):
        super().__init__(file)
        self._places: dict[type, dict[tuple[int, int], Link]] = {}
        self._links: dict[type, dict[ast.AST, Link]] = {}

    def link(self, call) -> Link | None:
        """The index's link of what a LibCST call calls."""
        file = self.file
        if type(call.func).__name__ == "Attribute":
            if (found := file.receivers.link(file.span(call.func)[1])) is not None:
                return found
        return file.around._link(call.func)

    def at(self, node, kind: type) -> Link | None:
        """The index's link of a LibCST node that it keeps by this type."""
        if kind not in self._places:
            span = self.file.source.span
            self._places[kind] = {span(link[0]): link for link in self.file.buckets[kind]}
        return self._places[kind].get(self.file.span(node))

    def link_to(self, node: ast.AST) -> Link | None:
        """Of a node of the index."""
        if node.__class__ not in self._links:
            self._links[node.__class__] = {link[0]: link for link in self.file.buckets.get(node.__class__, ())}
        return self._links[node.__class__].get(node)

    def reads_mask(self, subscript) -> bool:
        """Whether `x[...]` picks by a boolean mask, for every batch."""
        link = self.at(subscript, ast.Subscript)
        return link is not None and self.file.glance(mask_queries.depends_on_data, link)

    def summed(self, subscript) -> str | None:
        """See masks.summed."""
        link = self.at(subscript, ast.Subscript)
        return link and masks.summed(self, link)

    def mask_assigned(self) -> str | None:
        """See masks.assigned: of the statement that is walked."""
        link = self.link_to(self.file.statement)
        return masks.assigned(self, link) if link else None

    def padded(self, call) -> str | None:
        """See padding.padded."""
        link = self.at(call, ast.Call)
        return link and padding.padded(self, link)

    def target(self, call) -> str:
        """What the value of a call is called by the place it goes to."""
        link = self.link(call)
        return value_uses.target(link) if link else ""

    def inside(self, call, pattern: re.Pattern[str], *, dataset: bool = False) -> bool:
        """Whether a call stands in a function, or a method of a class, with such a name; in one of a dataset."""
        link = self.link(call)
        function = self.function(link) if link else None
        if function is None:
            return False
        owner = self.owner(link)
        if dataset and function[0].name in ("__getitem__", "__iter__"):
            return owner is not None and any(call_name(b).endswith(("Dataset", "dataset")) for b in owner.bases)
        return bool(pattern.search(function[0].name) or owner is not None and pattern.search(owner.name))

    # told of there
    sizes, spread, woken, children_work = sizes.found, keyword_options.spread, order.woken, order.children_work

    @cached_property
    def first_sizes(self) -> dict[tuple[str, int], tuple[int, int]]:
        return sizes.first(self)

    def moves(self, call) -> bool:
        """Whether `x.to(...)`, or a call with `device=`, names a device."""
        link = self.link(call)
        return link is not None and transfers.moves(link[1][0])

    def receiver_of_result(self, call) -> str:
        """The functions that the value of a call is handed to."""
        link = self.link(call)
        return value_uses.read_by(self.names, link) if link else ""

    def touched_before(self, link: Link) -> str | None:
        """What wakes the device above a place."""
        return order.touched_before(self.names, link)
