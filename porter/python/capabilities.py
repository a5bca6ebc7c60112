"""Finds questions for the compute capability of a GPU. An NPU has none."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from porter.python.blocks import once, place, within
from porter.python.imports import catcher_of
from porter.python.index import FUNCTIONS, Link, Node, ancestors, parents, walk

CAPABILITY, PROPERTIES = "torch.cuda.get_device_capability", "torch.cuda.get_device_properties"
NO_FIELD = frozenset({"major", "minor", "warp_size", "regs_per_multiprocessor"})  # None where an NPU is described
_CAUGHT = frozenset({"AssertionError", "Exception", "BaseException"})  # types that catch what such a call raises
_VERSIONS = frozenset(
    {("version", "cuda"), ("nccl", "version"), ("cudnn", "version")}
)  # the last two words of their names
_QUESTIONS = frozenset({"is_available", "device_count"})  # functions that ask for a GPU


def capability(link: Link | None) -> str | None:
    """What a question for a GPU is asked together with. "field": the name is `get_device_properties` and one of NO_FIELD is
    read, as in `get_device_properties(0).major`. "capability": its condition also asks for the compute capability. "version":
    its condition also compares the version of CUDA, of cuDNN or of NCCL."""
    if link is None or link[1] is None:
        return None
    call, child = link[1][0], link[0]
    if call.__class__ is ast.Call and call.func is child and getattr(link[1][1][0], "attr", "") in NO_FIELD:
        return "field" if getattr(child, "attr", "") == "get_device_properties" else None
    for above in parents(link):
        if above.__class__ is ast.BoolOp and any(v is not child for v in _asking(above)):
            return "capability"
        if above.__class__ is ast.BoolOp and any(v is not child for v in _versioned(above)):
            return "version"
        if isinstance(above, ast.stmt):
            return None
        child = above
    return None


@once
def _asking(test: ast.BoolOp) -> tuple[ast.expr, ...]:
    return tuple(filter(_asks, test.values))


@once
def _versioned(test: ast.BoolOp) -> tuple[ast.expr, ...]:
    return tuple(filter(_compares_version, test.values))


def lacks_field(link: Link) -> bool:
    """Whether one of NO_FIELD is read of what a name answers: `get_device_properties(0).major`."""
    call = link[1]
    return (
        call is not None and getattr(call[0], "func", None) is link[0] and getattr(call[1][0], "attr", "") in NO_FIELD
    )


def is_reached(link: Link, opened: Link, yes: bool) -> bool:
    """Whether a place runs as soon as one side of an `if` is entered: behind no other condition, and where nothing catches it."""
    child, node = link[0], opened[0]
    ends = not yes and node.__class__ is ast.If and not node.orelse and isinstance(node.body[-1], ast.Return)
    for above in parents(link):
        if above is node:
            side = node.body if yes else node.orelse
            return child is side if node.__class__ is ast.IfExp else within(node, child, "body" if yes else "orelse")
        if ends and opened[1] is not None and above is opened[1][0]:  # `if not available(): return`, and what follows
            field, index = place(above, child)
            return bool(field) and place(above, node)[0] == field and place(above, node)[1] < index
        if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef)) or _may_pass(above, child):
            return False
        child = above
    return False


def _may_pass(above: Node, child: Node) -> bool:
    """Whether a run may come to a statement or an expression and not to this part of it, or goes on where the part raises."""
    if isinstance(above, (ast.If, ast.IfExp, ast.While)):
        return child is not above.test
    if above.__class__ is ast.BoolOp:
        return child is not above.values[0]
    return above.__class__ is ast.ExceptHandler or above.__class__ is ast.Try and bool(above.handlers)


def shielded(link: Link | None, staying: Sequence[Link]) -> bool:
    """Whether a call that raises on an NPU does no harm: it is caught, or runs only where a GPU is asked for, or behind one
    of the questions `staying`, which the port does not change."""
    child = link[0] if link else None
    for above in parents(link):
        if above.__class__ is ast.BoolOp and any(v is not child for v in _asking_for_gpu(above)):
            return True
        if above.__class__ is ast.Try and within(above, child, "body") and (handler := catcher_of(above, _CAUGHT)):
            return handler.body[-1].__class__ is not ast.Raise
        child = above
    around = {*parents(link)}
    return any(_kept_away(question) in around for question in staying)


def _kept_away(question: Link) -> Node:
    """The code that an NPU never runs because of a question that stays: its statement, or the block around if it returns."""
    up = next(up for up in ancestors(question) if isinstance(up[0], ast.stmt))
    returns = isinstance(up[0], ast.If) and isinstance(up[0].body[-1], ast.Return)
    return up[1][0] if returns else up[0]


@once
def _asking_for_gpu(test: ast.BoolOp) -> tuple[ast.expr, ...]:
    return tuple(v for v in test.values if any(getattr(n, "attr", "") in _QUESTIONS for n in walk(v)))


def _compares_version(node: Node) -> bool:
    """Whether a condition compares the version of CUDA, or of a library of it: `torch.version.cuda < "12.8"`,
    `torch.cuda.nccl.version() >= (2, 10)`. On an NPU it is None, so < raises, or already the question does."""
    return any(
        inner.__class__ is ast.Compare
        and not isinstance(inner.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq))
        and any(
            (getattr(getattr(n, "value", None), "attr", ""), getattr(n, "attr", "")) in _VERSIONS for n in walk(inner)
        )
        for inner in walk(node)
    )


def _asks(node: Node) -> bool:
    words = {n.attr for n in walk(node) if n.__class__ is ast.Attribute}
    return "get_device_capability" in words or "get_device_properties" in words and not words.isdisjoint(NO_FIELD)
