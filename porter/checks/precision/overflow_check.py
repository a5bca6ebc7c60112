"""`torch.isfinite(loss)`: on chips that saturate there is no inf to be found."""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

_INFINITE = lazy(r"float\(['\"][-+]?inf")
_GRADIENT = lazy(r"\.grad\b|\bgrads?\b|\bloss\b")
_CHECKS = ("isnan", "isinf", "isfinite")


class OverflowCheck(Rule):
    code = "PRT313"
    edits = False
    socs = ("910", "310P")
    calls = frozenset(f"torch.{name}" for name in _CHECKS)
    methods = frozenset(_CHECKS)
    nodes = ("Comparison",)
    text = _INFINITE.pattern

    def visit(self, original: cst.Call | cst.Comparison, updated: cst.BaseExpression, file: RuleFile) -> Answer:
        if file.tested:
            return None
        if isinstance(original, cst.Comparison):
            return self._of_comparison(original, file)
        name = file.name(original.func)
        if name is not None and not name.startswith("torch."):
            return None  # math.isfinite, numpy.isnan
        if name is None and (original.args or file.receiver(original) == "other"):
            return None
        return Hit(original, "check", values=(("soc", file.target.soc), ("name", file.text(original.func))))

    @staticmethod
    def _of_comparison(original: cst.Comparison, file: RuleFile) -> Answer:
        """`total in (float("inf"), -float("inf"))`, of a number that was taken off the device."""
        [first, *_] = original.comparisons
        if not isinstance(first.operator, (cst.In, cst.Equal)) or not _INFINITE.search(file.text(first.comparator)):
            return None
        link = file.scene.link_of(original, ast.Compare)
        function = file.scene.function(link) if link is not None else None
        if function is None or not _GRADIENT.search(ast.unparse(function[0])):
            return None
        return Hit(original, "check", values=(("soc", file.target.soc), ("name", file.text(original.left))))
