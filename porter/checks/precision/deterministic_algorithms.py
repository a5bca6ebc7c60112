"""`torch.use_deterministic_algorithms(True)`: honoured on an NPU, from the first operator on by its collectives, too."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class DeterministicAlgorithms(Rule):
    code = "PRT306"
    edits = False
    calls = {"torch.use_deterministic_algorithms"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        value = original.args[0].value if original.args else None
        if isinstance(value, cst.Name) and value.value == "False" or file.tested:
            return None
        if file.source.says(b"HCCL_DETERMINISTIC"):
            return None
        distributed = any(name.startswith("torch.distributed.") for name in file.apis)
        return Hit(original, "distributed" if distributed else "single")
