"""Finds what compares the answer of a function of the project, which knows NPUs, with "cuda": `if get_device() == "cuda":`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors

if TYPE_CHECKING:
    from porter.python.file import File


def answered(file: File) -> list[tuple[int, int]]:
    """The ranges of such comparisons, of what their conditions ask only if they hold, and of the branches that they open."""
    known = file.facts.accelerators.functions
    if not known.answering or b"cuda" not in file.source.words:
        return []
    words = {function for _, function in known.answering}
    parts: list[Node] = []
    for link in file.buckets[ast.Call]:
        call, up = link
        name = call_name(call.func)
        if name not in words or call.args or call.keywords or not up:
            continue
        if known.answers(file.names.resolve(call.func, link) or name, file.path):
            for use in (link, *_readers(file, link, up)):
                parts += _compared(use)
    return [file.source.span(part) for part in parts]


def _readers(file: File, link: Link, up: Link) -> list[Link]:
    """The uses of the name that alone holds an answer: `DEVICE = get_device()`."""
    targets = up[0].targets if isinstance(up[0], ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or len(file.names.bindings(targets[0].id, link)) != 1:
        return []
    return file.names.readers(targets[0].id, (targets[0], up))


def _compared(link: Link) -> Iterator[Node]:
    up = link[1]
    if up and up[0].__class__ is ast.Call and getattr(up[0].func, "id", "") == "str":
        up = up[1]
    if not up or up[0].__class__ is not ast.Compare or len(up[0].ops) != 1:
        return
    if not any(str(constant(side)).startswith("cuda") for side in (up[0].left, *up[0].comparators)):
        return
    around: Node = up[1][0] if up[1] else None
    yield around if isinstance(around, ast.BoolOp) and isinstance(around.op, ast.And) else up[0]
    child = up[0]
    for above, _ in ancestors(up):
        if isinstance(above, ast.stmt):
            if isinstance(above, ast.If) and child is above.test and up[0].ops[0].__class__ is ast.Eq:
                yield from (above.test, *above.body)
            return
        child = above
