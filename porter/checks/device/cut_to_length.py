"""`str(device)[:4] == "cuda"`: a text that is cut to the length of what it is compared with."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.finding import Change
from porter.python.evidence import constant
from porter.python.index import Node


def length(link: Link) -> Node | None:
    """For a string that is compared: the number that the other side is cut to, where it is the string's own length."""
    compare, text = link[1][0], constant(link[0])
    if compare.__class__ is not ast.Compare or not isinstance(text, str):
        return None
    for side in (compare.left, *compare.comparators):
        cut: Node = side.slice if side.__class__ is ast.Subscript else None
        if cut.__class__ is ast.Slice and cut.lower is None and cut.step is None and constant(cut.upper) == len(text):
            return cut.upper
    return None


def shortened(number: Node, text: str, file: RuleFile) -> Change:
    """The edit of that number, for what is compared from now on."""
    return Change(*file.source.span(number), str(len(text)).encode())
