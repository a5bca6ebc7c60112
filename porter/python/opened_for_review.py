"""Finds the comparison that opens the branch of a question for a GPU and is ported after review alone.

    if kind == "cuda":                             # nobody can tell what `kind` is
        assert torch.cuda.is_available()

The question is its guard: where it alone were ported, the program would go on with "cuda" on an NPU.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import constant
from porter.python.half_guards import left_by
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.opened import branch, choice, compared
from porter.python.toolkit_words import is_about_toolkit

if TYPE_CHECKING:
    from porter.python.file import File


def opened_by(file: File, link: Link | None) -> str:
    """The line of such a comparison around a question, "" where there is none."""
    child = link[0] if link else None
    for up in ancestors(link):
        above = up[0]
        if above.__class__ in FUNCTIONS or above.__class__ is ast.ClassDef:
            break
        if above.__class__ is ast.If and child is not above.test and _is_for_review(file, above, child):
            return str(above.lineno)
        child = above
    return ""


def _is_for_review(file: File, opened: ast.If, inside: Node) -> bool:
    for node in walk(opened.test):
        if not str(constant(node)).startswith("cuda"):
            continue
        literal = file.literals.get(file.source.span(node)[0])
        if literal is None or literal.role != "compared" or (asked := compared(literal.link)) is None:
            continue
        found = choice(*asked)
        if found is None or found[0][0] is not opened or inside not in branch(opened, found[1]):
            continue
        left = left_by(file, literal.link)
        if not literal.certain or left is not None and left[0] == "opens":
            return True
        start, end = file.source.span(opened)[0], file.source.span(opened.body[-1])[1]
        if is_about_toolkit(file, start, end):  # then the whole `if` is
            return True
    return False
