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
from typing import TYPE_CHECKING

from porter.finding import Held
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.python.source import Source

if TYPE_CHECKING:
    from porter.python.file import File

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


def in_the_test(file: File, offset: int, held: Mapping[int, Held]) -> Held | None:
    """The first place that stays in the function around an offset, in a file of tests. A test is edited whole or not at all: the
    question in its decorator, what it moves to the device and what it expects there go together."""
    if not file.tested:
        return None
    for start, end in _functions(file):
        if start <= offset < end:
            return next((held[place] for place in sorted(held) if start <= place < end), None)
    return None


@once_for_file
def _functions(file: File) -> tuple[tuple[int, int], ...]:
    """Where the functions of a file and its methods stand, with their decorators."""
    functions = [link for kind in FUNCTIONS[:2] for link in file.buckets[kind]]
    outer = (link[0] for link in functions if not any(isinstance(above, FUNCTIONS[:2]) for above, _ in ancestors(link)))
    starts = ((min([node, *node.decorator_list], key=lambda part: part.lineno), node) for node in outer)
    span = file.source.span
    return tuple(sorted((span(first)[0], span(node)[1]) for first, node in starts))


def says_without(part: Node) -> bool:
    """Whether a part of a condition says that there is no GPU: `not torch.cuda.is_available()`."""
    asked: Node = part.operand if part.__class__ is ast.UnaryOp and part.op.__class__ is ast.Not else None
    return asked.__class__ is ast.Call and call_name(asked.func) == "is_available"
