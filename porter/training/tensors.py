"""Answers what rules ask about tensors of the training step: masks, sizes, where they go, which calls start the device.

Each method finds the link of a LibCST node, and asks the module that knows the answer.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.engine.rule import TOGETHER
from porter.python.index import Link
from porter.training import (
    keyword_options,
    mask_queries,
    mask_uses,
    masks,
    order,
    padding,
    read_again,
    sizes,
    transfers,
    value_uses,
)
from porter.training.dynamic_sizes import SHAPE
from porter.training.scene import Scene
from porter.values.shapes import Misfit

if TYPE_CHECKING:
    import libcst as cst


class Tensors:
    """Rules see the protocol `Tensors` of `engine/rule_file.py`, which has the same methods."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def reads_mask(self, subscript: cst.Subscript) -> bool:
        """Whether `x[...]` selects by a boolean mask, for every batch."""
        link = self.scene.link_of(subscript, ast.Subscript)
        return link is not None and self.scene.file.glance(mask_queries.depends_on_data, link)

    def summed(self, subscript: cst.Subscript) -> str | None:
        """See masks.summed."""
        link = self.scene.link_of(subscript, ast.Subscript)
        return link and masks.summed(self.scene, link)

    def mask_assigned(self) -> str | None:
        """See masks.assigned, for the statement that is walked."""
        link = self.scene.link_to(self.scene.file.statement)
        return masks.assigned(self.scene, link) if link else None

    def padded(self, call: cst.Call) -> str | None:
        """See padding.padded."""
        if not padding.may_collate(self.scene.file):
            return None
        link = self.scene.link_of(call, ast.Call)
        return link and padding.padded(self.scene, link)

    def followed(self, node: Any, kind: str) -> tuple[tuple[str, str], ...] | None:
        """The `Hit.values` about what follows from a size that depends on the data; None where nothing does. All selections by
        one mask in a function are one finding, and so are several reads of one size."""
        scene = self.scene
        if type(node).__name__ == "Call":
            link = called[1] if (called := scene.link(node)) is not None else None
        else:
            link = scene.link_of(node, ast.Subscript)
        values = scene.flows.message_values(scene, link, kind) if link is not None else None
        if link is None or values is None:
            return values
        cause = mask_uses.mask_of(scene, link) if kind == SHAPE else None
        return (*values, (TOGETHER, cause or read_again.cause(link)))

    def target(self, call: cst.Call) -> str:
        """The name that the value of a call gets: see value_uses.target."""
        link = self.scene.link(call)
        return value_uses.target(link) if link else ""

    def moves(self, call: cst.Call) -> bool:
        """Whether `x.to(...)`, or a call with `device=`, names a device."""
        link = self.scene.link(call)
        return link is not None and transfers.moves(link[1][0])

    def receiver_of_result(self, call: cst.Call) -> str:
        """The functions that get the value of a call: see value_uses.read_by."""
        link = self.scene.link(call)
        return value_uses.read_by(self.scene.names, link) if link else ""

    def touched_before(self, link: Link) -> str | None:
        """The call above a place that starts the device."""
        return order.touched_before(self.scene.names, link)

    def grouped_before(self, link: Link) -> str | None:
        """The first collective above a place."""
        return order.grouped_before(self.scene.names, link)

    def sizes(self, link: Link) -> dict[str, Misfit]:
        """See sizes.misfits_at."""
        return sizes.misfits_at(self.scene, link)

    def spread(self, call: cst.Call) -> dict[str, str] | None:
        """See keyword_options.spread."""
        return keyword_options.spread(self.scene, call)

    def woken(self, link: Link) -> str | None:
        """See order.woken."""
        return order.woken(self.scene, link)

    def children_work(self, link: Link) -> bool | None:
        """See order.children_work."""
        return order.children_work(self.scene, link)
