"""bfloat16 on a chip that has none."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class Bfloat16Unsupported(Rule):
    code = "PRT310"
    edits = False
    socs = ("910", "310P")
    references = frozenset({"torch.bfloat16"})
    methods = {"bfloat16"}

    def visit(self, original: cst.Call | cst.Attribute | cst.Name, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Call):
            kind = file.receiver(original)  # "other" and "own" are no tensors: of another library, of the project
            if original.args or kind in ("other", "own"):
                return None
        elif file.around.argument(original) is None and not self._is_bound(original, file):
            return None  # it is only compared or printed
        return Hit(original, "used", values=(("soc", file.target.soc),))

    @staticmethod
    def _is_bound(original: cst.Attribute | cst.Name, file: RuleFile) -> bool:
        """`dtype = torch.bfloat16`, `return torch.bfloat16`, alone or as one side of a choice."""
        link = file.link(original)
        while link is not None and link[0].__class__ in (ast.Name, ast.Attribute, ast.IfExp):
            link = link[1]
        return link is not None and link[0].__class__ in (ast.Assign, ast.AnnAssign, ast.Return)
