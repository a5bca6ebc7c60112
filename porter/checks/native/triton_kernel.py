"""`@triton.jit`: kernels that triton-ascend compiles for NPUs, within its limits."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Node

JIT = frozenset({"triton.jit", "triton.runtime.jit.jit", "triton.JITFunction"})


class TritonKernel(Rule):
    code = "PRT403"
    edits = False
    references = JIT

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        statement: Node = file.statement
        if not hasattr(statement, "decorator_list"):
            return None  # triton.jit = null_decorator, kernel = triton.jit(f)
        asks = isinstance(original, (cst.Attribute, cst.Name)) and _decorates(original, statement, file)
        if not asks:
            return None
        severity = "note" if file.imported.optional(original) else None
        return Hit(original, "kernel", values=(("name", statement.name),), severity=severity)


def _decorates(node: cst.Attribute | cst.Name, statement: Node, file: RuleFile) -> bool:
    start, end = file.span(node)
    return any(a <= start and end <= b for a, b in map(file.source.span, statement.decorator_list))
