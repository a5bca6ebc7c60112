"""`torchsummary.summary(model, size)` of a model that is then trained: its input lies on CUDA or on the CPU, the model on the NPU."""

from __future__ import annotations

from porter.checks.device.summarised import SUMMARIES, given_device, is_summarised
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class SummaryAtWork(Rule):
    code = "PRT153"
    edits = False
    calls = SUMMARIES

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        # where a model is only shown, it stays on CUDA or on the CPU, which is told where it is moved
        if link is None or file.tested or file.session.target.style == "shim" or is_summarised(file, link):
            return None
        # of a device that is written down, its own rule tells
        return None if given_device(link[1][0]) is not None else Hit(original.func, "fed")
