"""Finds code for Apple's MLX: functions that import it, and whole files that import it at their head."""

from __future__ import annotations

import ast

from porter.python.trees import parse
from porter.python.walks import statements
from porter.spans import Span, outermost, span_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORD = b"mlx"


class AppleCode:
    """The lines of one file that are code for MLX."""

    def __init__(self, text: bytes) -> None:
        tree = parse(text) if _WORD in text else None
        self._whole = tree is not None and any(map(_imports, tree.body))
        self._spans: list[Span] = []
        for node in statements(tree) if tree is not None and not self._whole else ():
            if isinstance(node, _FUNCTIONS) and any(map(_imports, node.body)):
                self._spans.append((node.lineno, node.end_lineno or node.lineno))
        self._spans = outermost(self._spans)

    def has(self, line: int) -> bool:
        return self._whole or span_of(line, self._spans) is not None


def _imports(node: ast.stmt) -> bool:
    """Whether a statement is an import of MLX: `import mlx.core as mx`."""
    if isinstance(node, ast.Import):
        return any(name.name.partition(".")[0] == "mlx" for name in node.names)
    return isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "mlx"
