"""`amp_C` and `multi_tensor_applier`: apex's kernels over lists of tensors."""

from __future__ import annotations

from typing import Any

from porter.engine.rule import Answer, Hit, Rule
from porter.engine.rule_file import RuleFile

APPLIERS = frozenset({"apex.multi_tensor_apply.multi_tensor_applier", "apex.multi_tensor_apply.MultiTensorApply"})


class MultiTensor(Rule):
    code = "PRT354"
    edits = False
    calls = APPLIERS
    prefixes = ("amp_C",)

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        optional = file.imported.optional(getattr(original, "func", original))
        severity = "note" if optional else None
        name = file.name(getattr(original, "func", original)) or ""
        if name in APPLIERS:
            return Hit(original.func, "applier", values=(("name", name.rpartition(".")[2]),), severity=severity)
        if name == "amp_C" or file.around.is_within(original, "multi_tensor_applier"):
            return None  # the call around it has said so
        why = "lamb" if "lamb" in name else "kernel"  # of which no function over lists is a part
        return Hit(original, why, values=(("name", name.rpartition(".")[2]),), severity=severity)
