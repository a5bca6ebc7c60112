"""A mean that is cast only to be added to a total for a report: float32 does for it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import call_name
from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.training.scene import Scene


def is_tallied(scene: Scene, link: Link) -> bool:
    """`total += x.mean().double()`, by the link of `x.mean().double`, of a total that nobody takes gradients of."""
    above, reduced = link[1][1][0], link[0].value
    return _adds(above) and above.target.id not in scene.losses(link) and _is_mean(reduced)


def _adds(node: Node) -> bool:
    return node.__class__ is ast.AugAssign and node.op.__class__ is ast.Add and node.target.__class__ is ast.Name


def _is_mean(node: Node) -> bool:
    """Of everything: one number."""
    return node.__class__ is ast.Call and call_name(node.func) == "mean" and not (node.args or node.keywords)
