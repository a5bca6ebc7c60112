"""Which library is loaded: one for GPUs, or, where there is none, the one that was built for CPUs beside it."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule_file import RuleFile
from porter.python.assigned import values_of
from porter.python.index import Link, Node, walk
from porter.regex import lazy

_CPU = lazy(r"(?i)(?<![a-z])cpu(?![a-z])")
_DEPTH = 3  # names that are followed: the library, the two of which it is one, and the word that tells them apart


def has_one_for_cpus(call: Link, file: RuleFile) -> bool:
    """Whether what a call loads is one of two, and one of these says that it is for CPUs: `found = of_gpu or of_cpu`,
    `name = "ops_cuda" if built else "ops_cpu"`."""
    if not file.source.says(b"cpu") or not call[0].args:
        return False
    return any(
        _is_for_cpus(part, call, file)
        for value in _values(call[0].args[0], call, file.names)
        for choice in walk(value)
        if choice.__class__ in (ast.BoolOp, ast.IfExp)
        for part in ((choice.body, choice.orelse) if choice.__class__ is ast.IfExp else choice.values)
    )


def _is_for_cpus(part: Node, at: Link, file: RuleFile) -> bool:
    texts = (n.value for value in _values(part, at, file.names) for n in walk(value) if n.__class__ is ast.Constant)
    return any(isinstance(text, str) and _CPU.search(text) for text in texts)


def _values(node: Node, at: Link, names: Any, depth: int = _DEPTH) -> list[Node]:
    """An expression, and what the names in it are set to."""
    found = [node]
    for name in walk(node) if depth else ():
        if name.__class__ is ast.Name:
            for value in values_of(names, name, at):
                found += _values(value, at, names, depth - 1)
    return found
