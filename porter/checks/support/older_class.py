"""Classes as an older torch took them: a Function whose instances are called, a Sampler that is handed its data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile

if TYPE_CHECKING:
    from porter.training.scene import Scene

_FUNCTIONS = frozenset(
    f"torch.autograd.{name}" for name in ("Function", "function.Function", "function.InplaceFunction")
)
_SAMPLERS = frozenset({"torch.utils.data.Sampler", "torch.utils.data.sampler.Sampler"})
_STATIC = frozenset({"staticmethod", "classmethod"})


def _may_matter(scene: Scene, link: Link) -> bool:
    """A mention of such a class, or a call of `super().__init__` in a file that has a Sampler."""
    return getattr(link[0], "attr", "") != "__init__" or scene.file.source.says(b"Sampler")


class OlderClass(Rule):
    code = "PRT720"
    references = _FUNCTIONS
    methods = {"__init__"}
    only = staticmethod(_may_matter)

    def visit(self, original: cst.BaseExpression, updated: cst.BaseExpression, file: RuleFile) -> Answer:
        if isinstance(original, cst.Call) and isinstance(updated, cst.Call):
            return self._sampler(original, updated, file)
        link = file.link(original)
        while link is not None and link[1] is not None and link[1][0].__class__ is ast.Attribute:
            link = link[1]
        owner = link and link[1]
        if link is None or owner is None or owner[0].__class__ is not ast.ClassDef or link[0] not in owner[0].bases:
            return None
        values = (("name", owner[0].name),)
        return Hit(original, "function", values=values) if _is_called(file, owner[0]) else None

    @staticmethod
    def _sampler(original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        """`super().__init__(data)`, which asked for nothing and raises since torch 2.10."""
        if len(original.args) != 1 or original.args[0].star or not _is_super(original.func):
            return None
        link = file.scene.link(original)
        owner = file.scene.owner(link) if link is not None else None
        if link is None or owner is None or len(owner.bases) != 1:
            return None
        base = owner.bases[0]
        base = base.value if isinstance(base, ast.Subscript) else base
        if file.names.resolve(base, link) not in _SAMPLERS:
            return None
        catalogue = file.session.catalogue
        if "data_source" in catalogue.signature("torch.utils.data.Sampler"):
            return None
        given = original.args[0]
        new = None if "#" in cst.Module([]).code_for_node(given) else updated.with_changes(args=[])
        plain = isinstance(given.value, (cst.Name, cst.Attribute))
        return Hit(given, "sampler", new=new, safe=plain, values=(("version", catalogue.torch),))


def _is_super(func: cst.BaseExpression) -> bool:
    """`super().__init__`, `super(Mine, self).__init__`"""
    call = func.value if isinstance(func, cst.Attribute) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "super"


def _is_called(file: RuleFile, owner: ast.ClassDef) -> bool:
    """Whether instances of a Function are made: its `forward` is a method of theirs, and nothing says `.apply` of the class."""
    methods = {part.name: part for part in owner.body if isinstance(part, ast.FunctionDef)}
    forward = methods.get("forward")
    if forward is None or any(getattr(mark, "id", "") in _STATIC for mark in forward.decorator_list):
        return False
    uses = file.names.spelled(owner.name)
    around = [(link[0], link[1][0]) for link in uses if link[1] is not None]
    if any(getattr(above, "attr", "") == "apply" for _, above in around):
        return False
    return "__init__" in methods or any(above.__class__ is ast.Call and above.func is use for use, above in around)
