"""`x.float().half()`, `x.permute(0, 2, 1).permute(0, 2, 1)`: the second takes back what the first did."""

from __future__ import annotations

from porter.checks.performance import conversions, prefilters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class UndoneConversion(Rule):
    code = "PRT642"
    edits = False
    methods = (*conversions.CASTS, "to", "permute", "transpose", "swapaxes")
    only = staticmethod(prefilters.is_undone)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = None if file.tested else file.scene.link(original)
        if link is None or not file.glance(prefilters.is_undone, link):
            return None
        why = conversions.undone(file.names, link)
        return Hit(original, why, values=(("name", file.text(original)),)) if why else None
