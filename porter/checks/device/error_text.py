"""`"CUDA out of memory" in str(error)`: errors that are known by words an NPU does not use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from porter.engine.nodes import quoted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

MEMORY = "CUDA out of memory"
_OTHER = lazy(r"CUDA error|CUBLAS_STATUS|CUDNN_STATUS|cuDNN error")
_ASKS = frozenset({"startswith", "find", "count", "index", "search", "match"})


class ErrorText(Rule):
    code = "PRT142"
    spelled = True
    nodes = ("Comparison", "Call")
    text = (MEMORY, "CUDA error", "CUBLAS_STATUS", "CUDNN_STATUS", "DNN error")

    def visit(self, original: cst.Comparison | cst.Call, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Comparison):
            if not isinstance(original.comparisons[0].operator, (cst.In, cst.NotIn)):
                return None
            return self._hit(original.left, updated.left, lambda new: updated.with_changes(left=new), file)
        func = original.func
        method = func.attr.value if isinstance(func, cst.Attribute) else ""
        if method not in _ASKS or not original.args:
            return None
        first, *others = updated.args

        def rebuilt(new: cst.BaseExpression) -> Any:
            return updated.with_changes(args=[first.with_changes(value=new), *others])

        return self._hit(original.args[0].value, first.value, rebuilt, file)

    @staticmethod
    def _hit(
        value: cst.BaseExpression,
        updated: Any,
        rebuilt: Callable[[cst.BaseExpression], cst.BaseExpression],
        file: RuleFile,
    ) -> Hit | None:
        if not isinstance(value, cst.SimpleString):
            return None
        if MEMORY in value.value:
            new = f"{file.target.device.upper()} out of memory"
            text = quoted(updated, updated.raw_value.replace(MEMORY, new))
            return Hit(value, "memory", new=rebuilt(text), values=(("old", MEMORY), ("new", new)))
        if match := _OTHER.search(value.value):
            return Hit(value, "other", values=(("old", match[0]),))
        return None
