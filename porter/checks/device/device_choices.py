"""`choices=["cuda", "cpu"]`: the list gains the new device and keeps the old one, which scripts may still pass."""

from __future__ import annotations

from typing import Any

from porter.checks.choices import elements, is_choice, string, with_twin
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class DeviceChoices(Rule):
    code = "PRT123"
    nodes = ("List", "Tuple", "Set", "Subscript")
    text = r"\bLiteral\s*\[[^\]]*cuda"  # what Subscript is asked for: a type that lists the values

    def visit(self, original: cst.List | cst.Tuple | cst.Set | cst.Subscript, updated: Any, file: RuleFile) -> Answer:
        before = elements(original)
        index = next((i for i, e in enumerate(before) if is_choice(string(e), "cuda", "device", file)), None)
        if index is None or len(before) != len(elements(updated)):
            return None
        device, old = file.target.device, string(before[index])
        if not file.facts.roads.device:  # nothing in the project reads the option but what prints it
            return Hit(old, "unread")
        script = next((s for o in file.around.options(old) if (s := file.facts.launch.passes(o, "cuda"))), None)
        values = (("new", f'"{device}"'), ("script", script or ""))
        certain = (literal := file.literal(old)) is not None and literal.certain
        why = "choices-passed" if script else "choices" if certain else "choices-uncertain"
        return Hit(old, why, new=with_twin(updated, index, device), safe=script is None and certain, values=values)
