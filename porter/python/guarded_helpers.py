"""Finds helpers whose tensors meet modules that stay where they are.

    def load(path):                                    def main():
        x = read(path)                                     if torch.cuda.is_available():
        if torch.cuda.is_available():                          net.cuda()  # for a person to look at
            x = x.cuda()                                   net(load(path))
        return x

If only the question of the helper were ported, its tensors would lie on an NPU, and the module of its caller on the host.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from porter.python.blocks import once
from porter.python.held_questions import QUESTIONS
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.python.file import File

Left = tuple[str, str]


def left_by_callers(file: File, question: Link, left: Callable[[Link], Left | None]) -> Left | None:
    """What stays behind a question of a function that calls this helper. `left`: what stays behind a question of its own."""
    top = [up[0] for up in ancestors(question)][-2:-1]  # of the module
    helper: Node = top[0] if top and top[0].__class__ in FUNCTIONS[:2] else None
    if helper is None or not _gives_back(helper):
        return None
    for link in file.meaning.mentions.of(QUESTIONS):
        call, around = link[1], _functions(link)
        if call is not None and helper not in around and any(helper.name in _called(caller) for caller in around):
            if found := left(call):
                return found
    return None


def _functions(link: Link) -> list[Node]:
    """The functions and methods around a place, innermost first."""
    return [up[0] for up in ancestors(link) if up[0].__class__ in FUNCTIONS[:2]]


@once
def _gives_back(function: Node) -> bool:
    return any(node.__class__ is ast.Return and node.value is not None for node in walk(function))


@once
def _called(function: Node) -> frozenset[str]:
    return frozenset(getattr(node.func, "id", "") for node in walk(function) if node.__class__ is ast.Call)
