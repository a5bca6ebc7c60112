"""Tensors of the training step, as rules ask of them: masks, sizes, where they go, what wakes the device before."""

from __future__ import annotations

import ast

from porter.python.index import Link
from porter.training import keyword_options, mask_queries, masks, order, padding, sizes, transfers, value_uses
from porter.training.scene import Scene


class Tensors:
    def __init__(self, scene: Scene):
        self.scene = scene

    def reads_mask(self, subscript) -> bool:
        """Whether `x[...]` picks by a boolean mask, for every batch."""
        link = self.scene.at(subscript, ast.Subscript)
        return link is not None and self.scene.file.glance(mask_queries.depends_on_data, link)

    def summed(self, subscript) -> str | None:
        """See masks.summed."""
        link = self.scene.at(subscript, ast.Subscript)
        return link and masks.summed(self.scene, link)

    def mask_assigned(self) -> str | None:
        """See masks.assigned: of the statement that is walked."""
        link = self.scene.link_to(self.scene.file.statement)
        return masks.assigned(self.scene, link) if link else None

    def padded(self, call) -> str | None:
        """See padding.padded."""
        link = self.scene.at(call, ast.Call)
        return link and padding.padded(self.scene, link)

    def followed(self, node, kind: str) -> tuple[tuple[str, str], ...] | None:
        """What follows from a size that depends on the data, for a message; None where nothing does."""
        scene = self.scene
        link = scene.link(node)[1] if type(node).__name__ == "Call" else scene.at(node, ast.Subscript)
        return scene.flows.said(scene, link, kind)

    def target(self, call) -> str:
        """What the value of a call is called by the place it goes to."""
        link = self.scene.link(call)
        return value_uses.target(link) if link else ""

    def moves(self, call) -> bool:
        """Whether `x.to(...)`, or a call with `device=`, names a device."""
        link = self.scene.link(call)
        return link is not None and transfers.moves(link[1][0])

    def receiver_of_result(self, call) -> str:
        """The functions that the value of a call is handed to."""
        link = self.scene.link(call)
        return value_uses.read_by(self.scene.names, link) if link else ""

    def touched_before(self, link: Link) -> str | None:
        """What wakes the device above a place."""
        return order.touched_before(self.scene.names, link)

    def sizes(self, link: Link):
        """See sizes.found."""
        return sizes.found(self.scene, link)

    def spread(self, call):
        """See keyword_options.spread."""
        return keyword_options.spread(self.scene, call)

    def woken(self, link: Link):
        """See order.woken."""
        return order.woken(self.scene, link)

    def children_work(self, link: Link):
        """See order.children_work."""
        return order.children_work(self.scene, link)
