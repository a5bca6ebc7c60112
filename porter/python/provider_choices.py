"""Finds comparisons with a device that choose a provider of onnxruntime which no NPU has: `providers.insert(0, "CUDAExecutionProvider")`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import constant
from porter.python.index import Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

_PROVIDERS = frozenset({"CUDAExecutionProvider", "TensorrtExecutionProvider"})


def provider(file: RuleFile, literal: Link) -> str | None:
    """The provider that a comparison with the string at `literal` chooses, if its branch does nothing else."""
    if not file.source.says(b"ExecutionProvider"):
        return None
    child = literal[0]
    for above, _ in ancestors(literal):
        if above.__class__ in (ast.If, ast.IfExp):
            if child is not above.test:
                return None
            named = [_named(part) for part in (above.body if above.__class__ is ast.If else [above.body])]
            return named[0] if all(named) else None
        if isinstance(above, ast.stmt):
            return None
        child = above
    return None


def _named(part: Node) -> str | None:
    """The first of these providers that a statement or an expression names."""
    return next((str(value) for node in walk(part) if (value := constant(node)) in _PROVIDERS), None)
