"""Branches that only start a CUDA kernel of the project: `if torch.cuda.is_available(): test(x.cuda())`, which an NPU skips."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.evidence import constant, is_log_call
from porter.python.held_questions import QUESTIONS
from porter.python.index import Link, Node, ancestors, walk
from porter.python.leads_to_kernels import leads
from porter.python.opened import branch, choice
from porter.spans import Span, outermost

if TYPE_CHECKING:
    from porter.python.file import File

_SETS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Pass)


def started(file: File, block: list[Node], link: Link) -> str | None:
    """The kernel of a block that starts one in each of its calls, and else only assigns, for it."""
    native = file.facts.native
    if not (native.exports or native.applied):
        return None
    names: list[str] = []
    for statement in _statements(block):
        if statement.__class__ is ast.Expr and statement.value.__class__ is ast.Call:
            if is_log_call(statement.value):
                continue
            calls = (node.func for node in walk(statement) if node.__class__ is ast.Call)
            name = next((ast.unparse(func) for func in calls if _starts(file, func, link)), None)
            if name is None:
                return None
            names.append(name)
        elif not isinstance(statement, _SETS):
            return None
    return next(iter(names), None)


@once_for_file
def branches_left(file: File) -> tuple[Span, ...]:
    """The lines of such branches behind a question for a GPU."""
    native, spans = file.facts.native, []
    for link in file.meaning.mentions.of(QUESTIONS) if native.exports or native.applied else ():
        call = next((up for up in ancestors(link) if up[0].__class__ is ast.Call), None)
        found = choice(call) if call is not None else None
        if found is not None and found[0][0].__class__ is ast.If and found[1]:
            block = branch(found[0][0], True)
            if started(file, block, found[0]):
                spans.append((block[0].lineno, block[-1].end_lineno or block[-1].lineno))
    return tuple(outermost(spans))


def _statements(block: list[Node]) -> Iterator[Node]:
    for statement in block:
        if isinstance(statement, (ast.With, ast.For)):
            yield from _statements(statement.body)
        else:
            yield statement


def _starts(file: File, func: Node, link: Link) -> bool:
    return _is_own(file, func, link) or leads(file, func, _is_own)


def _is_own(file: File, func: Node, link: Link) -> bool:
    """Whether a call starts a kernel on any device but the CPU: an export of an extension, or a class that applies one and does
    not ask for CUDA itself."""
    native, parts = file.facts.native, (file.names.resolve(func, link) or "").lstrip(".").split(".")
    if parts[0] == "torch" and parts[1:2] != ["ops"]:
        return False
    if any(name in native.exports.get(module, ()) for module, name in pairwise(parts)):
        return True
    owner = func.value if func.__class__ is ast.Attribute and func.attr == "apply" else None
    name = getattr(owner, "attr", "") or getattr(owner, "id", "")
    return name in native.applied and not _asks_for_cuda(file, name)


@once_for_file
def _asks_for_cuda(file: File, name: str) -> bool:
    """Whether a class of the file asks for CUDA: it may have another way."""
    classes = (link[0] for link in file.buckets.get(ast.ClassDef, ()) if link[0].name == name)
    nodes = (node for definition in classes for node in walk(definition))
    return any(getattr(node, "attr", "") in ("is_cuda", "is_available") or constant(node) == "cuda" for node in nodes)
