"""`choices=["nccl", "gloo"]`: the list gains the new backend and keeps the old one, which scripts may still pass."""

from __future__ import annotations

from porter.checks.build import quoted
from porter.checks.rule import Hit, Rule, cst


class BackendChoices(Rule):
    code, slug = "PRT209", "backend-option"
    nodes = ("List", "Tuple", "Set", "Subscript")
    text = r"\bLiteral\s*\[[^\]]*nccl"  # what Subscript is asked for: a type that lists the values

    def visit(self, original, updated, file):
        field = "slice" if isinstance(original, cst.Subscript) else "elements"
        before, elements = getattr(original, field), list(getattr(updated, field))
        at = next((i for i, e in enumerate(before) if self._is_choice(self._string(e), file)), None)
        if at is None or len(before) != len(elements):
            return None
        backend, string, old = file.target.backend, self._string(before[at]), elements[at]
        new = quoted(self._string(old), backend)
        added = old.with_changes(**({"slice": cst.Index(new)} if field == "slice" else {"value": new}))
        elements[at] = old.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        elements.insert(at + 1, added)
        script = next((s for o in file.around.options(string) if (s := file.facts.passes(o, "nccl"))), None)
        values = (("old", file.text(string)), ("new", f'"{backend}"'), ("script", script or ""))
        why = "choices-passed" if script else "choices"
        safe = script is None and file.literal(string).certain
        return Hit(string, why, new=updated.with_changes(**{field: elements}), safe=safe, values=values)

    @staticmethod
    def _string(element):
        """The expression in an element of a list, or of `Literal[...]`."""
        inner = element.slice if isinstance(element, cst.SubscriptElement) else element
        return getattr(inner, "value", None)

    @staticmethod
    def _is_choice(value, file) -> bool:
        if not isinstance(value, cst.SimpleString) or value.evaluated_value != "nccl":
            return False
        literal = file.literal(value)
        return literal is not None and literal.kind == "backend" and literal.role == "choices"
