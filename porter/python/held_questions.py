"""Finds questions for a GPU that must stay because a device beside them stays. Where "cuda" stays, the answer must stay False.

    if not torch.cuda.is_available():        if device.startswith("cuda"):  # stays
        device = "cpu"                           if torch.cuda.is_available():
    else:                                            ...
        device = "cuda"  # stays

If only the question were ported, the program would go on with "cuda" on an NPU, and not with the CPU as before.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from porter.finding import Held
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors
from porter.python.source import Source

QUESTIONS = frozenset({"torch.cuda.is_available", "torch.cuda.device_count"})  # functions that ask for a GPU


def waits_for(link: Link | None, held: Mapping[int, Held], source: Source) -> Held | None:
    """The first place with a device that stays, in the branches of the question at `link` or in a condition around it."""
    child = link and link[0]
    for above, _ in ancestors(link):
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            return None
        if isinstance(above, ast.If):
            start, end = source.span(above if child is above.test else above.test)
            if found := next((held[offset] for offset in sorted(held) if start <= offset < end), None):
                return found
        child = above
    return None


def says_without(part: Node) -> bool:
    """Whether a part of a condition says that there is no GPU: `not torch.cuda.is_available()`."""
    asked: Node = part.operand if part.__class__ is ast.UnaryOp and part.op.__class__ is ast.Not else None
    return asked.__class__ is ast.Call and call_name(asked.func) == "is_available"
