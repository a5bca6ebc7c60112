"""`choices=["nccl", "gloo"]`: the list gains the new backend and keeps the old one, which scripts may still pass."""

from __future__ import annotations

from typing import Any

from porter.checks.choices import elements, is_choice, string, with_twin
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class BackendChoices(Rule):
    code = "PRT209"
    nodes = ("List", "Tuple", "Set", "Subscript")
    text = r"\bLiteral\s*\[[^\]]*nccl"  # what Subscript is asked for: a type that lists the values

    def visit(self, original: cst.List | cst.Tuple | cst.Set | cst.Subscript, updated: Any, file: RuleFile) -> Answer:
        before = elements(original)
        index = next((i for i, e in enumerate(before) if is_choice(string(e), "nccl", "backend", file)), None)
        if index is None or len(before) != len(elements(updated)):
            return None
        backend, old = file.target.backend, string(before[index])
        script = next((s for o in file.around.options(old) if (s := file.facts.launch.passes(o, "nccl"))), None)
        values = (("old", file.text(old)), ("new", f'"{backend}"'), ("script", script or ""))
        why = "choices-passed" if script else "choices"
        literal = file.literal(old)
        safe = script is None and literal is not None and literal.certain
        return Hit(old, why, new=with_twin(updated, index, backend), safe=safe, values=values)
