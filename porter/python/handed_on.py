"""`device = "cuda" if torch.cuda.is_available() else "cpu"; WhisperModel(device=device)`: a device that a local name takes to
a library that knows no NPU."""

from __future__ import annotations

import ast
from typing import Protocol

from porter.python.evidence import CUDA_LIBRARIES
from porter.python.index import Link, Node, ancestors

_WRAPPED = (ast.IfExp, ast.BoolOp, ast.keyword)


class Names(Protocol):
    def resolve(self, node: ast.AST, link: Link) -> str | None: ...
    def readers(self, name: str, link: Link) -> list[Link]: ...


def given_to(names: Names, value: Link) -> str | None:
    """The library that a value goes to, of which torch's device is none."""
    child = value[0]
    for up in ancestors(value):
        above: Node = up[0]
        if above.__class__ is ast.Assign and len(above.targets) == 1 and above.targets[0].__class__ is ast.Name:
            readers = names.readers(above.targets[0].id, (above.targets[0], up))
            return next((library for use in readers if (library := _library(names, use))), None)
        if above.__class__ is ast.IfExp and child is above.test or above.__class__ not in _WRAPPED:
            return None
        child = above
    return None


def _library(names: Names, use: Link) -> str | None:
    child = use[0]
    for up in ancestors(use):
        above: Node = up[0]
        if above.__class__ is ast.Call and child is not above.func:
            root = (names.resolve(above.func, up) or "").partition(".")[0]
            return root if root in CUDA_LIBRARIES else None
        if above.__class__ not in _WRAPPED:
            return None
        child = above
    return None
