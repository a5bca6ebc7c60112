"""`for i in range(x.size(0))` around operators on `x[i]`: as many launches as there are rows."""

from __future__ import annotations

from typing import Any

from porter.checks.performance import elements, prefilters
from porter.engine.rule import Answer, BatchRule, Hit, cst
from porter.engine.rule_file import RuleFile


class ElementLoop(BatchRule):
    code = "PRT638"
    edits = False
    nodes = ("For",)
    text = r"range\("
    only = staticmethod(prefilters.takes_rows)

    def visit(self, original: cst.For, updated: cst.For, file: RuleFile) -> Answer:
        link = file.scene.link_to(file.statement)
        scene: Any = file.scene
        answer = elements.rows(scene, link) if link is not None and file.glance(prefilters.takes_rows, link) else None
        return Hit(original.iter, answer[0], values=(("name", answer[1]),)) if answer else None
