"""`@triton.jit`: kernels that triton-ascend compiles for NPUs, within its limits."""

from __future__ import annotations

from porter.engine.rule import Hit, Rule, cst

JIT = frozenset({"triton.jit", "triton.runtime.jit.jit", "triton.JITFunction"})


class TritonKernel(Rule):
    code = "PRT403"
    edits = False
    references = JIT

    def visit(self, original, updated, file):
        statement = file.statement
        if not hasattr(statement, "decorator_list"):
            return None  # triton.jit = null_decorator, kernel = triton.jit(f)
        asks = isinstance(original, (cst.Attribute, cst.Name)) and _decorates(original, statement, file)
        if not asks:
            return None
        severity = "note" if file.imported.optional(original) else None
        return Hit(original, "kernel", values=(("name", statement.name),), severity=severity)


def _decorates(node, statement, file) -> bool:
    start, end = file.span(node)
    return any(a <= start and end <= b for a, b in map(file.source.span, statement.decorator_list))
