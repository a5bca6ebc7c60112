"""`torch.autograd.set_detect_anomaly(True)`: a tool for an hour of debugging that was left in the program."""

from __future__ import annotations

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

SETTERS = ("torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly")
CONTEXTS = ("torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly")


class AnomalyMode(Rule):
    code = "PRT632"
    edits = False
    calls = {*SETTERS, *CONTEXTS}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        if link is None or file.tested or file.scene.rarely(link):
            return None
        if file.name(original.func) in SETTERS:
            argument = positional(original, 0, ("mode",))
            mode = argument and argument[1] and argument[1].value
            if not isinstance(mode, cst.Name) or mode.value != "True":
                return None
        return Hit(original.func, "on")
