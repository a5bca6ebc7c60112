"""What a loss is made of."""

from __future__ import annotations

import ast

from porter.distribute.trace import Place, World
from porter.python.evidence import constant
from porter.python.index import Node


def summed(world: World, place: Place, seen: set[int]) -> Place | None:
    """A call of which a loss is made that adds up over the batch and is not divided afterwards."""
    for made in world.sources(place):
        if id(made.node) in seen or len(seen) > 100:
            continue
        seen.add(id(made.node))
        node = made.node
        if isinstance(node, ast.Call):
            if any(k.arg == "reduction" and constant(k.value) == "sum" for k in node.keywords) or any(
                k.arg == "size_average" and constant(k.value) is False for k in node.keywords
            ):
                return made
            inner: list[Node] = [node.func] if isinstance(node.func, (ast.Name, ast.Attribute)) else []
        elif isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Div):
            inner = [node.left, node.right]
        else:
            inner = []
        for part in inner:
            if (found := summed(world, made.within(part), seen)) is not None:
                return found
    return None
