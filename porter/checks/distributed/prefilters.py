"""Cheap looks at a place before LibCST sees its statement: `Rule.only` is one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.checks.distributed import needless
from porter.python.index import Link

if TYPE_CHECKING:
    from porter.training.scene import Scene


def is_view(scene: Scene, link: Link) -> bool:
    return any(a.__class__ in (ast.Call, ast.Subscript, ast.Attribute) for a in link[1][0].args[:2])


def is_needless(scene: Scene, link: Link) -> bool:
    return needless.reason(scene, link) != ""
