"""`scores.masked_fill(mask, float("-inf"))`: on chips that saturate, float16 has no infinity."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

_INFINITE = lazy(r"""-?\s*(?:float\(\s*["'][-+]?inf(?:inity)?["']\s*\)|(?:math|np|numpy|torch)\.inf)""")


class InfiniteMask(Rule):
    code = "PRT314"
    edits = False
    socs = ("910", "310P")
    methods = {"masked_fill", "masked_fill_"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        value = next(
            (a.value for i, a in enumerate(original.args) if i == 1 or a.keyword and a.keyword.value == "value"), None
        )
        if value is None or not _INFINITE.fullmatch(file.text(value)):
            return None
        return Hit(value, "infinite", values=(("old", file.text(value)), ("soc", file.target.soc)))
