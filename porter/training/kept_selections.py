"""Selections through a mask that what a program holds is updated or made smaller by: `total[mask] += step[mask]`."""

from __future__ import annotations

import ast
from typing import Any

from porter.python.index import Link, Node, ancestors
from porter.regex import lazy
from porter.training import masks

_PRUNES = lazy(r"(?i)(?:^|_)prun(?:e|ing)")  # a function that makes what a model holds smaller


def what_is_kept(scene: Any, link: Link) -> str:
    """ "updated": PRT602 answers the read with its statement; "pruned": it is meant to get smaller; else ""."""
    if _is_updated(scene, link):
        return "updated"
    return "pruned" if _PRUNES.search(scene.function_name(link)) and _is_kept_smaller(link) else ""


def _is_updated(scene: Any, link: Link) -> bool:
    """Whether PRT602 answers the read with the update that it is a part of: `total[mask] += grad[mask, :2].norm(dim=1)`."""
    statement = next((up for up in ancestors(link) if isinstance(up[0], ast.stmt)), None)
    if statement is None or statement[0].__class__ is not ast.AugAssign:
        return False
    target, read = statement[0].target, link[0].slice
    first = read.elts[0] if read.__class__ is ast.Tuple and read.elts else read
    same = target.__class__ is ast.Subscript and ast.dump(target.slice) == ast.dump(first)
    return same and masks.assigned(scene, statement) is not None


def _is_kept_smaller(link: Link) -> bool:
    """`self.scales = self.scales[mask]`, `state["exp_avg"] = state["exp_avg"][mask]`"""
    statement: Node = link[1] and link[1][0]
    if (
        statement.__class__ is not ast.Assign
        or len(statement.targets) != 1
        or statement.targets[0].__class__ is ast.Name
    ):
        return False
    return ast.unparse(statement.targets[0]) == ast.unparse(link[0].value)
