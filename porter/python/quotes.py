"""Changes the quotes of strings in edits inside of an f-string. Before Python 3.12 they must differ from those around."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import libcst as cst

from porter.engine.rule import Hit

_OTHER = {'"': "'", "'": '"'}


class _Requote(cst.CSTTransformer):
    def __init__(self, taken: frozenset[str]) -> None:
        self.taken, self.fits = taken, True

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        quote = updated_node.quote
        if quote not in self.taken:
            return updated_node
        other, text = _OTHER.get(quote, quote), updated_node.raw_value
        self.fits &= other not in self.taken and other not in text and "\\" not in text
        return updated_node.with_changes(value=f"{updated_node.prefix}{other}{text}{other}")


def fitting(hit: Hit, around: Iterable[str]) -> Hit:
    """The hit with quotes that may stand within the quotes `around`; without its edit where no quotes are left."""
    if hit.new is None:
        return hit
    taken, code = frozenset(around), cst.Module([]).code_for_node(hit.new)
    if not any(quote in code for quote in taken):
        return hit  # a visit of LibCST would copy every node
    requote = _Requote(taken)
    new: Any = hit.new.visit(requote)
    return replace(hit, new=new if requote.fits else None)
