"""Finds what stays in a branch that a question for a GPU opens, where the style leaves `cuda()` to a person: half of a decision."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.index import Link, Node
from porter.python.receivers import OWN, UNKNOWN

if TYPE_CHECKING:
    from porter.python.file import File


def left_inside(file: File, link: Link | None) -> tuple[str, str] | None:
    """`target.cuda()` of `if torch.cuda.is_available(): target = target.cuda()`, where nobody can tell what `target` is and classes
    of the project have a `cuda()` of their own: ("half", what stays); None where all in the branch is ported with the question."""
    if link is None or file.style.one_world or not file.facts.own.cuda:
        return None
    call = link[1]
    above = call[1] if call is not None and call[0].__class__ is ast.Call else None
    if above is None or above[0].__class__ is not ast.If or above[0].test is not call[0]:
        return None
    moves = (node for statement in above[0].body for node in ast.walk(statement) if _moves(node))
    return next((("half", ast.unparse(node)) for node in moves if _is_left(node, file)), None)


def _moves(node: Node) -> bool:
    return node.__class__ is ast.Call and getattr(node.func, "attr", "") == "cuda"


def _is_left(call: Node, file: File) -> bool:
    return file.receivers.judge(file.source.span(call.func)[1]) in (OWN, UNKNOWN)
