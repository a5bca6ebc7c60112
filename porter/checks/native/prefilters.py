"""Cheap looks at a place before LibCST sees its statement: `Rule.only` is one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.index import Link

if TYPE_CHECKING:
    from porter.training.scene import Scene


def launches(scene: Scene, link: Link) -> bool:
    """`kernel[grid](...)` of Triton; numba has the same form. Of imports, those that name CUDA."""
    says = scene.file.source.says
    if link[0].__class__ in (ast.Import, ast.ImportFrom):
        return says(b"cuda", link[0])
    if link[0].__class__ is not ast.Call:  # a function of Triton's own
        return True
    return link[0].func.__class__ is ast.Subscript and says(b"triton") and not says(b"numba")


def imports_absent(scene: Scene, link: Link) -> bool:
    """Of a package whose source is not here; a call adds a folder that is not here."""
    if link[0].__class__ not in (ast.Import, ast.ImportFrom):
        return scene.file.path in dict(scene.file.facts.roads.outside)
    says = scene.file.source.says
    return any(says(package.name.partition(".")[0].encode(), link[0]) for package in scene.file.facts.lists.absent)
