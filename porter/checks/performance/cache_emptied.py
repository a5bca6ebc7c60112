"""`torch.cuda.empty_cache()` for every batch."""

from __future__ import annotations

from porter.checks.performance import prefilters
from porter.engine.rule import Answer, BatchRule, Hit, cst
from porter.engine.rule_file import RuleFile


class CacheEmptied(BatchRule):
    code = "PRT631"
    edits = False
    calls = {f"{module}.empty_cache" for module in ("torch.cuda", "torch.npu", "torch_npu.npu", "torch.cuda.memory")}
    only = staticmethod(prefilters.in_step)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        return Hit(original.func, "step") if link is not None and file.scene.matters(link) else None
