"""`torch.jit.script(model)`, `torch.jit.trace(model, x)`: run as they are on an NPU."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class TorchScriptCall(Rule):
    code = "PRT509"
    edits = False
    calls = frozenset(f"torch.jit.{name}" for name in "script trace trace_module".split())

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        return Hit(original.func, "called", values=(("name", file.name(original.func) or ""),))
