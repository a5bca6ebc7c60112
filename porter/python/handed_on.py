"""`device = "cuda" if torch.cuda.is_available() else "cpu"; WhisperModel(device=device)`: a device that a local name takes to
a library that knows no NPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import library_on_cuda
from porter.python.index import Link, Node, ancestors

if TYPE_CHECKING:
    from porter.engine.rule_file import Names

_WRAPPED = (ast.IfExp, ast.BoolOp, ast.keyword)


def given_to(names: Names, value: Link) -> str | None:
    """The library that a value goes to, of which torch's device is none."""
    child = value[0]
    for up in ancestors(value):
        above: Node = up[0]
        if above.__class__ is ast.Assign and len(above.targets) == 1 and above.targets[0].__class__ is ast.Name:
            uses = names.readers(above.targets[0].id, (above.targets[0], up))
            return names.once("given to", uses, lambda: _first(names, uses))  # noqa: B023
        if above.__class__ is ast.IfExp and child is above.test or above.__class__ not in _WRAPPED:
            return None
        child = above
    return None


def _first(names: Names, uses: list[Link]) -> str | None:
    return next((library for use in uses if (library := _library(names, use))), None)


def _library(names: Names, use: Link) -> str | None:
    child = use[0]
    for up in ancestors(use):
        above: Node = up[0]
        if above.__class__ is ast.Call and child is not above.func:
            return library_on_cuda(names.resolve(above.func, up))
        if above.__class__ not in _WRAPPED:
            return None
        child = above
    return None
