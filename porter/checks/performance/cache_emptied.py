"""`torch.cuda.empty_cache()`, or Python's `gc.collect()`, for every batch."""

from __future__ import annotations

from porter.checks.performance import prefilters
from porter.engine.rule import Answer, BatchRule, Hit, cst
from porter.engine.rule_file import RuleFile


class CacheEmptied(BatchRule):
    code = "PRT631"
    edits = False
    calls = {
        "gc.collect",
        *(f"{module}.empty_cache" for module in ("torch.cuda", "torch.npu", "torch_npu.npu", "torch.cuda.memory")),
    }
    only = staticmethod(prefilters.in_step)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        if link is None or not file.scene.matters(link):
            return None
        return Hit(original.func, "collected" if file.name(original.func) == "gc.collect" else "step")
