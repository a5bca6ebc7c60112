"""`x.is_cuda`: False for every NPU tensor, so that the branch behind it is skipped in silence."""

from __future__ import annotations

from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.native.guarded import guarded


class IsCuda(Rule):
    code = "PRT132"
    attributes = {"is_cuda"}

    def visit(self, original: cst.Attribute, updated: cst.Attribute, file: RuleFile) -> Answer:
        receiver = file.receiver(original)
        if receiver in ("other", "own"):
            return None
        if file.facts.own.is_cuda and isinstance(original.value, cst.Name) and original.value.value == "self":
            return Hit(original, "of-a-class")  # no module of torch has it: it is one of those
        link = file.link(original)
        if kernel := file.meaning.kernel(original) or (guarded(file, link) if link is not None else None):
            return Hit(original, "kernel", values=(("kernel", kernel), (TOGETHER, kernel)))
        new = file.style.on_device(updated, file)
        safe = receiver == "torch" or receiver == "unknown" and not file.facts.own.is_cuda
        why = "attribute" if isinstance(new, cst.Attribute) else "type"
        return Hit(original, why if safe else "unknown", new=new, safe=safe, loads=True)
