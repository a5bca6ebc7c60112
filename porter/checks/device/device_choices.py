"""`choices=["cuda", "cpu"]`: the list gains the new device and keeps the old one, which scripts may still pass."""

from __future__ import annotations

from porter.checks.build import quoted
from porter.checks.rule import Hit, Rule, cst


class DeviceChoices(Rule):
    code, slug = "PRT123", "device-option"
    nodes = ("List", "Tuple", "Set")

    def visit(self, original, updated, file):
        at = next((i for i, e in enumerate(original.elements) if self._is_choice(e, file)), None)
        if at is None or len(original.elements) != len(updated.elements):
            return None
        device, string = file.target.device, original.elements[at].value
        elements = list(updated.elements)
        old = elements[at]
        gap = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        elements[at] = old.with_changes(comma=gap)
        elements.insert(at + 1, old.with_changes(value=quoted(old.value, device)))
        script = next((s for o in file.around.options(string) if (s := file.facts.passes(o, "cuda"))), None)
        values = (("new", f'"{device}"'), ("script", script or ""))
        certain = file.literal(string).certain
        why = "choices-passed" if script else "choices" if certain else "choices-uncertain"
        safe = script is None and certain
        return Hit(string, why, new=updated.with_changes(elements=elements), safe=safe, values=values)

    @staticmethod
    def _is_choice(element, file) -> bool:
        value = element.value
        if not isinstance(value, cst.SimpleString) or value.evaluated_value != "cuda":
            return False
        literal = file.literal(value)
        return literal is not None and literal.role == "choices"
