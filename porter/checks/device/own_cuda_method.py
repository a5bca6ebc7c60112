"""A class with a `cuda` method, or an `is_cuda` property, of its own: its callers move on, so it needs the new name."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.project.own_methods import owns
from porter.python.index import owner_of

PLAIN = ("staticmethod", "classmethod", "wraps", "no_grad", "inference_mode", "override")
VALUES = ("property", "cached_property", "setter", "getter", "deleter")  # of no move


class OwnCudaMethod(Rule):
    code = "PRT131"
    nodes = ("FunctionDef",)
    text = r"cuda\s*\("

    def visit(self, original: cst.FunctionDef, updated: cst.FunctionDef, file: RuleFile) -> Answer:
        old = original.name.value
        if old not in ("cuda", "is_cuda") or not file.style.one_world:  # on GPUs as well, callers keep the old name
            return None
        new, method = old.replace("cuda", file.target.device), file.around.method()
        if method is None or new in method[0]:
            return None
        link = file.scene.link_to(file.statement)
        owner = owner_of(link) if link is not None else None
        if old == "cuda" and owner is not None and not owns(owner, old):
            return None  # callers say `to`, or get from every module what this does
        values, marks = (("old", old), ("new", new)), method[1]
        if old == "is_cuda":
            plain = marks == ["property"]  # a method's callers keep it: only the attribute moves
            if not plain:
                return None
        elif any(mark in VALUES for mark in marks):
            return None
        else:
            plain = all(m in PLAIN for m in marks) and (bool(original.params.params) or "staticmethod" in marks)
        if not plain:
            return Hit(original.name, "by-hand", values=values)
        node = updated.with_changes(name=updated.name.with_changes(value=new))
        return Hit(original.name, "method", new=node, after=("", f"{old} = {new}"), values=values)
