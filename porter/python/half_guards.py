"""Finds what stays in a branch that a question for a GPU opens, or a comparison with one, where the style leaves it to a person:
half of a decision."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.evidence import constant
from porter.python.index import Link, Node, walk
from porter.python.opened import branch, choice
from porter.python.receivers import OWN, UNKNOWN
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

FORMATS = frozenset(
    {"torch.channels_last", "torch.channels_last_3d"}
)  # layouts that an NPU refuses, and that GPUs keep
_REFUSED = lazy(r"cuda(?:[ \t]+:[ \t]*|:[ \t]+)\d+")
_MENTIONED = lazy(rb"cuda(?:[ \t]+:[ \t]*|:[ \t]+)\d")
_WORDS = frozenset(name.rpartition(".")[2] for name in FORMATS)
_YES, _NO = (ast.Eq, ast.Is, ast.In), (ast.NotEq, ast.IsNot, ast.NotIn)


def left_inside(file: File, link: Link | None) -> tuple[str, str] | None:
    """`target.cuda()` of `if torch.cuda.is_available(): target = target.cuda()`, where nobody can tell what `target` is and classes
    of the project have a `cuda()` of their own: ("half", what stays); None where all in the branch is ported with the question."""
    call = link[1] if link is not None and _may_stay(file) else None
    return _left(file, choice(call)) if call is not None and call[0].__class__ is ast.Call else None


def left_by(file: File, link: Link | None) -> tuple[str, str] | None:
    """What stays in the branch that a comparison with a device opens: `if device.type == "cuda":`."""
    compared = _compared(link) if link is not None and _may_stay(file) else None
    return _left(file, choice(*compared)) if compared is not None else None


def _may_stay(file: File) -> bool:
    return not file.style.one_world or file.source.says(_MENTIONED)


def _compared(link: Link) -> tuple[Link, bool] | None:
    """The comparison that a device stands in, and the answer that it has for that device."""
    up = link[1]
    if up is not None and up[0].__class__ is ast.Call and link[0] is not up[0].func:
        if getattr(up[0].func, "attr", "") == "startswith":
            return up, True
        up = up[1]  # `device == torch.device("cuda")`
    if up is None or up[0].__class__ is not ast.Compare or len(up[0].ops) != 1:
        return None
    kind = up[0].ops[0]
    return (up, isinstance(kind, _YES)) if isinstance(kind, (*_YES, *_NO)) else None


def _left(file: File, found: tuple[Link, bool] | None) -> tuple[str, str] | None:
    if found is None:
        return None
    if text := next((text for text in map(constant, _nodes(found[0][0], found[1])) if _is_refused(text)), None):
        return "half", repr(text)
    if file.style.one_world:
        return None
    moves, layout = _inside(found[0][0], found[1])
    left = next((node for node in moves if file.facts.own.cuda and _is_left(node, file)), layout)
    return ("half", ast.unparse(left)) if left is not None else None


def _inside(node: Node, yes: bool) -> tuple[list[Node], Node]:
    """The calls of `cuda()` of one side of an `if`; and a layout that an NPU refuses, where nothing else there is for a device."""
    moves: list[Node] = []
    layout, is_moved = None, False
    for inner in _nodes(node, yes):
        if _moves(inner):
            moves.append(inner)
        elif getattr(inner, "attr", getattr(inner, "id", "")) in _WORDS:
            layout = layout or inner
        is_moved = is_moved or _is_for_device(inner)
    return moves, None if is_moved else layout


def _nodes(node: Node, yes: bool) -> Iterator[Node]:
    return (inner for part in branch(node, yes) for inner in walk(part))


def _moves(node: Node) -> bool:
    return node.__class__ is ast.Call and getattr(node.func, "attr", "") == "cuda"


def _is_for_device(node: Node) -> bool:
    """`x.cuda()`, `x.to(device)`, "cuda:0": without the branch, something would stay where it is."""
    if node.__class__ is ast.Call and getattr(node.func, "attr", "") == "to":
        return bool(node.args)
    return _moves(node) or str(constant(node) or "").startswith("cuda")


def _is_refused(text: object) -> bool:
    """Whether a text is a device but for its blanks: torch refuses "cuda: 0", with a GPU as without, and porter leaves it."""
    return isinstance(text, str) and _REFUSED.fullmatch(text) is not None


def _is_left(call: Node, file: File) -> bool:
    return file.receivers.judge(file.source.span(call.func)[1]) in (OWN, UNKNOWN)
