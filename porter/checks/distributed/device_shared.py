"""`x.to(device).share_memory_()`: device memory that several processes are to see."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class DeviceShared(Rule):
    code = "PRT213"
    edits = False
    methods = {"share_memory_", "share_memory"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        inner = getattr(original.func, "value", None)
        while isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute):
            if inner.func.attr.value in ("cuda", "npu") or inner.func.attr.value == "to" and file.tensors.moves(inner):
                return Hit(original, "shared")
            inner = inner.func.value
        return None
