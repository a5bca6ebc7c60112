"""`"A100" in torch.cuda.get_device_name()`: decisions by the name of a GPU."""

from __future__ import annotations

from porter.checks.device.known_chips import names_npu
from porter.checks.device.peak_flops import returns_peak
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

MODELS = ("A100", "A800", "H100", "V100", "B200", "RTX", "Tesla", "NVIDIA")
_MODEL = lazy(r"\b(?:[AHVBPK]\d00|A800|H20|GB200|L4|L40S?|T4|A10G?|A6000|RTX|GeForce|Tesla|NVIDIA|Quadro)\b")
_ASKED = lazy(r"(?i)device_?name|gpu_?name|get_device_name|gpu_?type|gpu_?model|card|props?\.name|properties|gpu")


class GpuModel(Rule):
    code = "PRT144"
    edits = False
    nodes = ("Comparison",)
    text = MODELS

    def visit(self, original: cst.Comparison, updated: cst.Comparison, file: RuleFile) -> Answer:
        sides = [original.left, *(target.comparator for target in original.comparisons)]
        names = [s for s in sides if isinstance(s, cst.SimpleString) and _MODEL.search(s.value)]
        others = [s for s in sides if not isinstance(s, cst.SimpleString)]
        if not names or not any(_ASKED.search(file.text(other)) for other in others):
            return None
        if names_npu(file) or returns_peak(file):  # PRT143 speaks of the whole ladder
            return None
        return Hit(original, "asked", values=(("name", names[0].raw_value),))
