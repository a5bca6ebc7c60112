"""Finds functions that assert a CUDA extension: `assert _C is not None and x.is_cuda, "CUDA extension required"`.

Such a function does not work without the extension. Its questions for a GPU stay as they are until the extension is ported.
"""

from __future__ import annotations

import ast

from porter.python.blocks import once
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, parents, walk
from porter.regex import lazy

_EXTENSION = lazy(r"^_C$|(?:^|_)(?:ext|cuda)$|^_backend$")  # names of extensions
_SAID = lazy(r"(?i)\bcuda[ _-](?:ext|kernel|op)")  # messages that speak of one


def demanded(link: Link) -> str | None:
    """The extension that the function around `link` asserts."""
    function = next((above for above in parents(link) if isinstance(above, FUNCTIONS[:2])), None)
    return demands(function) if function is not None else None


@once
def demands(function: Node) -> str | None:
    """The extension that a function asserts to be there."""
    asserts = (statement for statement in function.body if statement.__class__ is ast.Assert)
    return next((name for statement in asserts if (name := _extension(statement))), None)


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
