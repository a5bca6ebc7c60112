"""A class with a `cuda` method of its own: its callers move to `.npu()`, so it needs that too."""

from __future__ import annotations

from porter.checks.rule import Hit, Rule

PLAIN = ("staticmethod", "classmethod", "wraps", "no_grad", "inference_mode", "override")
VALUES = ("property", "cached_property", "setter", "getter", "deleter")  # of no move


class OwnCudaMethod(Rule):
    code, slug = "PRT131", "own-cuda-method"
    nodes = ("FunctionDef",)
    text = r"cuda\s*\("

    def visit(self, original, updated, file):
        device = file.target.device
        if original.name.value != "cuda":
            return None
        method = file.around.method()
        if method is None or device in method[0]:
            return None
        marks = method[1]
        if any(mark in VALUES for mark in marks):
            return None
        if not original.params.params and "staticmethod" not in marks or any(m not in PLAIN for m in marks):
            return Hit(original.name, "by-hand")
        new = updated.with_changes(name=updated.name.with_changes(value=device))
        return Hit(original.name, "method", new=new, after=("", f"cuda = {device}"))
