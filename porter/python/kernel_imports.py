"""Finds branches that import CUDA kernels, define what calls them, and do nothing else: `try: from flash_attn import f; def g(): ...`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.evidence import is_log_call
from porter.python.index import FUNCTIONS, Link, Node
from porter.python.kernel_branches import kernels_called

if TYPE_CHECKING:
    from porter.python.file import File

_IMPORTS = (ast.Import, ast.ImportFrom)
_DEFINES = (*FUNCTIONS[:2], ast.ClassDef, ast.Pass)


def only(file: File, block: list[ast.stmt], link: Link) -> str | None:
    """The kernel that a block imports, in branches of its own as well. None where something in it is not about kernels."""
    found: str | None = None
    for statement in _statements(block):
        if isinstance(statement, _IMPORTS):
            found = found or next(
                (name for name in kernels_called(file, statement, link) if not _is_triton(name)), None
            )
        elif not isinstance(statement, _DEFINES) and not _sets_name(statement) and not is_log_call(_value(statement)):
            return None
    return found


def _statements(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in block:
        if isinstance(statement, ast.If):
            yield from _statements([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.Try):
            handled = [inner for handler in statement.handlers for inner in handler.body]
            yield from _statements([*statement.body, *statement.orelse, *handled])
        else:
            yield statement


def _value(statement: Node) -> Node:
    return getattr(statement, "value", None)


def _sets_name(statement: Node) -> bool:
    """`f = None`, `available = True`, `f = module.f`"""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    value = statement.value
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, str)
    return isinstance(value, (ast.Name, ast.Attribute))


def _is_triton(name: str) -> bool:
    return name.partition(".")[0] == "triton"  # NPUs have one
