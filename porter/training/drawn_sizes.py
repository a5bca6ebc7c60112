"""Finds images that are resized to a random size for each batch: `interpolate(x, size=random.randrange(320, 672, 32))`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.index import Link, Node, walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.training.scene import Scene

_DRAWS = lazy(r"(?:random|numpy\.random)\.(?:randrange|randint|choice|choices|uniform)$")
_NAMES = 12  # names that are followed from a size to its origin


def is_drawn(scene: Scene, link: Link) -> bool:
    """Whether the size or the factor of a resize comes from a random number in the same function. `link`: of the function that
    the call calls."""
    call = link[1][0]
    named = {k.arg: k.value for k in call.keywords}
    wanted = [named.get("size"), named.get("scale_factor"), *call.args[1:3]]
    waiting: list[Node] = [node for node in wanted if node is not None]
    asked: set[str] = set()
    while waiting:
        for node in walk(waiting.pop()):
            if node.__class__ is ast.Call and _DRAWS.match(scene.names.resolve(node.func, link) or ""):
                return True
            if node.__class__ is ast.Name and node.id not in asked and len(asked) < _NAMES:
                asked.add(node.id)
                waiting += values_of(scene.names, node, link)
    return False
