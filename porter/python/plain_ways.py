"""Names that say what a choice is about: of a class of autograd that is applied, and of the plain way beside a kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import Node, walk

if TYPE_CHECKING:
    from porter.python.file import File

# functions that compute with torch's own operators what a kernel of the same library computes
_PLAIN = {"multi_scale_deformable_attn_pytorch": "multi_scale_deformable_attn"}


@once_for_file
def applied(file: File) -> dict[str, Node]:
    """The names of a module for `Fused.apply`: `run = Fused.apply`."""
    named = (statement for statement in file.tree.body if isinstance(statement, ast.Assign))
    return {
        statement.targets[0].id: statement.value
        for statement in named
        if isinstance(statement.targets[0], ast.Name) and getattr(statement.value, "attr", "") == "apply"
    }


def plain_way(parts: Iterable[Node]) -> str | None:
    """The kernel whose plain way one side of a choice calls."""
    calls = (node for part in parts for one in (part if isinstance(part, list) else [part]) for node in walk(one))
    return next((_PLAIN[name] for node in calls if (name := call_name(getattr(node, "func", None))) in _PLAIN), None)
