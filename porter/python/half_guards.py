"""Finds what stays in a branch that a question for a GPU opens, where the style leaves `cuda()` to a person: half of a decision."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.index import Link, Node, walk
from porter.python.opened import branch, choice
from porter.python.receivers import OWN, UNKNOWN

if TYPE_CHECKING:
    from porter.python.file import File


def left_inside(file: File, link: Link | None) -> tuple[str, str] | None:
    """`target.cuda()` of `if torch.cuda.is_available(): target = target.cuda()`, where nobody can tell what `target` is and classes
    of the project have a `cuda()` of their own: ("half", what stays); None where all in the branch is ported with the question."""
    if link is None or file.style.one_world or not file.facts.own.cuda:
        return None
    call = link[1]
    found = choice(call) if call is not None and call[0].__class__ is ast.Call else None
    if found is None:
        return None
    inside = branch(found[0][0], found[1])
    moves = (node for part in inside for node in walk(part) if _moves(node))
    return next((("half", ast.unparse(node)) for node in moves if _is_left(node, file)), None)


def _moves(node: Node) -> bool:
    return node.__class__ is ast.Call and getattr(node.func, "attr", "") == "cuda"


def _is_left(call: Node, file: File) -> bool:
    return file.receivers.judge(file.source.span(call.func)[1]) in (OWN, UNKNOWN)
