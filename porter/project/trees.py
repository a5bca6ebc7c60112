"""Python of other people as a tree of the standard library."""

from __future__ import annotations

import ast
import warnings


def parse(data: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes in strings
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
