"""`torch.isfinite(loss)`: on chips that saturate there is no inf to be found."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

CHECKS = ("isnan", "isinf", "isfinite")


class OverflowCheck(Rule):
    code = "PRT313"
    edits = False
    socs = ("910", "310P")
    calls = frozenset(f"torch.{name}" for name in CHECKS)
    methods = frozenset(CHECKS)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.tested:
            return None
        name = file.name(original.func)
        if name is not None and not name.startswith("torch."):
            return None  # math.isfinite, numpy.isnan
        if name is None and (original.args or file.receiver(original) == "other"):
            return None
        return Hit(original, "check", values=(("soc", file.target.soc), ("name", file.text(original.func))))
