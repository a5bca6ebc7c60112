"""`x.cuda()` of a batch whose loader pins its memory: without `non_blocking=True` the host waits for the copy."""

from __future__ import annotations

from porter.checks.performance import prefilters
from porter.engine.rule import Answer, BatchRule, Hit, cst
from porter.engine.rule_file import RuleFile


class BlockingCopy(BatchRule):
    code = "PRT643"
    edits = False
    methods = ("cuda", "npu", "to")
    only = staticmethod(prefilters.copies_pinned)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = None if file.tested else file.scene.link(original)
        if link is None or not file.glance(prefilters.copies_pinned, link):
            return None
        return Hit(original.func, "pinned", values=(("name", f".{link[0].attr}()"),), optional=True)
