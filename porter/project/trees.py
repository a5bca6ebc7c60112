"""Python of other people as a tree of the standard library."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable

Parse = Callable[[bytes], "ast.Module | None"]
_DEEPEST = (
    100  # levels; nobody writes half as many, and a function that goes down a tree may take several calls for one
)


def parse(data: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes in strings
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def shallow(data: bytes) -> ast.Module | None:
    """The same, and None for a tree that is too deep to go down."""
    tree = parse(data)
    level: list[ast.AST] = [tree] if tree else []
    for _ in range(_DEEPEST):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    return None if level else tree
