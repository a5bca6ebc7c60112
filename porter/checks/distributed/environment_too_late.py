"""`os.environ["CUDA_VISIBLE_DEVICES"] = ...` after the device was asked for: the runtime has read it already."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

QUESTIONS = ("is_available", "device_count", "is_initialized", "is_bf16_supported")
READ_ONCE = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "PYTORCH_CUDA_ALLOC_CONF"})


class EnvironmentTooLate(Rule):
    code = "PRT214"
    edits = False
    literals = {"variable"}

    def visit(self, original: cst.BaseString, updated: cst.BaseString, file: RuleFile) -> Answer:
        literal = file.literal(original)
        if literal is None or literal.kind != "variable" or literal.name not in READ_ONCE or not literal.set:
            return None
        touched = file.tensors.touched_before(literal.link)
        if touched is None:
            return None
        why = "asked" if touched.rpartition(".")[2] in QUESTIONS else "late"
        return Hit(original, why, values=(("name", touched),))
