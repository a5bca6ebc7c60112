"""Finds choices between a kernel and the plain way of the same library, which computes the same with torch's own operators."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from porter.python.evidence import call_name
from porter.python.index import Node, walk
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.python.file import File

_PLAIN = hints("plain-way-of-a-kernel")


def plain_way(file: File, choice: Node) -> str | None:
    """The plain way that one side of `if value.is_cuda: ... else: ...` calls, and the other does not."""
    if not any(name.encode() in file.source.words for name in _PLAIN):
        return None
    body, orelse = (_called(side if isinstance(side, list) else [side]) for side in (choice.body, choice.orelse))
    return min(body ^ orelse, default=None)


def _called(side: Sequence[Node]) -> set[str]:
    calls = (node for part in side for node in walk(part) if node.__class__ is ast.Call)
    return {call_name(call.func) for call in calls} & _PLAIN
