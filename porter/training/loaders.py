"""What a loader is for: whether anybody takes batches from it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.index import FUNCTIONS, Link, Node

if TYPE_CHECKING:
    from porter.training.scene import Scene


def is_left(scene: Scene, link: Link) -> bool:
    """Whether a loader is built and nobody reads it: in a function, or in a notebook, from which nobody imports. `link` is
    that of what is called."""
    above = link[1][1]
    target: Node = above[0].targets[0] if above[0].__class__ is ast.Assign and len(above[0].targets) == 1 else None
    if target.__class__ is not ast.Name:
        return False
    around = scene.names.scopes.home(target.id, (target, above))
    alone = around.__class__ in FUNCTIONS or scene.file.path.endswith(".ipynb")
    return alone and not scene.names.readers(target.id, (target, above))
