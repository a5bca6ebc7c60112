"""Finds functions that assert a CUDA extension: `assert _C is not None and x.is_cuda, "CUDA extension required"`, and those
that launch a CUDA kernel through CuPy: `kernel(grid=..., block=..., args=[x.data_ptr()])`.

Such a function does not work without the extension or the kernel. Its questions for a GPU stay until that is ported.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once, once_for_file
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, parents, walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

_BESIDE_GRID = frozenset({"block", "args"})  # what a kernel is launched with beside `grid`
_EXTENSION = lazy(r"^_C$|(?:^|_)(?:ext|cuda)$|^_backend$")  # names of extensions
_SAID = lazy(r"(?i)\bcuda[ _-](?:ext|kernel|op)")  # messages that speak of one


def demanded(file: File, link: Link) -> str | None:
    """The extension that the function around `link` asserts, or the kernel that it launches."""
    function = next((above for above in parents(link) if isinstance(above, FUNCTIONS[:2])), None)
    return demands(file, function) if function is not None else None


def demands(file: File, function: Node) -> str | None:
    """The extension that a function asserts to be there, or the kernel that it launches."""
    return _asserted(function) or (_launched(function) if _has_cupy(file) else None)


@once
def _asserted(function: Node) -> str | None:
    asserts = (statement for statement in function.body if statement.__class__ is ast.Assert)
    return next((name for statement in asserts if (name := _extension(statement))), None)


@once_for_file
def _has_cupy(file: File) -> bool:
    """Whether a file imports CuPy, which compiles CUDA sources and launches their kernels."""
    return file.source.says(b"cupy") and any(
        target.partition(".")[0] == "cupy" for bound in file.names.imports.values() for target, _ in bound
    )


@once
def _launched(function: Node) -> str | None:
    """The kernel that a function launches, as the program calls it."""
    calls = (node for node in walk(function) if isinstance(node, ast.Call))
    return next((ast.unparse(_called(call)) for call in calls if _is_launch(call)), None)


def _is_launch(call: ast.Call) -> bool:
    names = {keyword.arg for keyword in call.keywords}
    return "grid" in names and not names.isdisjoint(_BESIDE_GRID)


def launches(file: File, call: ast.Call) -> bool:
    """Whether a call launches a kernel through CuPy."""
    return _is_launch(call) and _has_cupy(file)


def _called(call: ast.Call) -> ast.expr:
    """`launch` of `launch("name", text)(grid=...)`."""
    func = call.func
    while isinstance(func, ast.Call):
        func = func.func
    return func


def _extension(statement: ast.Assert) -> str | None:
    test = statement.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    names = [name for part in parts if (name := _present(part))]
    if names and (_EXTENSION.search(names[0]) or _says_so(statement.msg)):
        return names[0]
    return None


def _present(part: ast.expr) -> str:
    """The name that a condition says is there: `_C` of `_C is not None`; else ""."""
    if not isinstance(part, ast.Compare) or not isinstance(part.ops[0], ast.IsNot):
        return ""
    return getattr(part.left, "id", "") if constant(part.comparators[0]) is None else ""


def _says_so(message: ast.expr | None) -> bool:
    return message is not None and any(_SAID.search(str(constant(node) or "")) for node in walk(message))
