"""`torch.view_as_complex`, `torch.polar`, complex dtypes: rotary embeddings in complex numbers, mostly."""

from __future__ import annotations

from typing import Any

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

MAKERS = frozenset({"torch.view_as_complex", "torch.polar", "torch.complex"})
DTYPES = frozenset(f"torch.{name}" for name in ("complex32", "complex64", "complex128", "chalf", "cfloat", "cdouble"))


class ComplexTensor(Rule):
    code = "PRT309"
    edits = False
    calls = MAKERS
    references = DTYPES

    def visit(self, original: cst.Call | cst.Attribute | cst.Name, updated: Any, file: RuleFile) -> Answer:
        name = file.name(getattr(original, "func", original)) or ""
        if name in MAKERS:
            rotary = name == "torch.polar" or bool(file.matches(original, ("complex-rotation",)))
            return Hit(original, "rotary" if rotary else "made", values=(("name", name),))
        argument = file.around.argument(original)
        if argument is None or argument[1] not in (0, 1, "dtype"):
            return None
        resolved = file.names.resolve(argument[0][0].func, argument[0])
        if argument[1] != "dtype" and (
            resolved is not None or getattr(argument[0][0].func, "attr", "") not in ("to", "type")
        ):
            return None  # isinstance, sets of dtypes, tables
        return Hit(original, "made", values=(("name", name),))
