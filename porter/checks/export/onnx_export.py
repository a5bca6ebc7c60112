"""`torch.onnx.export(...)`: the way to the device goes on with ATC."""

from __future__ import annotations

from porter.checks.export.onnx_sessions import stays_off_gpus
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.training.callees import first_calls


class OnnxExport(Rule):
    code = "PRT903"
    edits = False
    calls = {"torch.onnx.export", "torch.onnx.utils.export", "torch.onnx.dynamo_export"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)  # a program that exports in several ways is told once
        if link is None or file.tested or first_calls(file.tree)[call_name(link[0])] is not link[0]:
            return None
        return None if stays_off_gpus(file) else Hit(original.func, "atc")
