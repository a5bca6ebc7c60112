"""`torch.onnx.export(...)`: the way to the device goes on with ATC."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.training.callees import first_calls


class OnnxExport(Rule):
    code = "PRT903"
    edits = False
    calls = {"torch.onnx.export", "torch.onnx.utils.export"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)  # a program that exports in several ways is told once
        return (
            Hit(original.func, "atc")
            if link is not None and not file.tested and first_calls(file.tree)[call_name(link[0])] is link[0]
            else None
        )
