"""Classes as an older torch took them: a Function whose instances are called, a Sampler that is handed its data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.index import Node, heir

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
        owner = heir(link) if link is not None else None
        if owner is None or not _is_called(file, owner):
            return None
        return Hit(original, "function", values=(("name", owner.name),))

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
    uses = [link for link in file.names.spelled(owner.name) if link[1] is not None]
    if any(getattr(_above(link)[0], "attr", "") == "apply" for link in uses):
        return False
    made = [_above(link) for link in uses if getattr(_above(link)[0], "func", None) is link[0]]
    if made and all(_runs_alone(file, call) for call in made):
        return False  # torch only warns of the instance, and its forward is a method as any other
    return "__init__" in methods or bool(made)


def _runs_alone(file: RuleFile, call: Link) -> bool:
    """Whether nothing but `forward` is asked of an instance: `Dice().forward(x, y)`, `dice = Dice()` above `dice.forward(x, y)`."""
    above = _above(call)
    target = above[0].targets[0] if isinstance(above[0], ast.Assign) and len(above[0].targets) == 1 else None
    if not isinstance(target, ast.Name):
        return _is_forward(above, call[0])
    readers = file.names.readers(target.id, (target, above))
    return bool(readers) and all(_is_forward(_above(reader), reader[0]) for reader in readers)


def _is_forward(link: Link, of: Node) -> bool:
    """Whether a place is the call of `forward` of a node."""
    func = link[0]
    called = isinstance(func, ast.Attribute) and func.value is of and func.attr == "forward"
    return called and getattr(_above(link)[0], "func", None) is func


def _above(link: Link) -> Link:
    return link[1] or link
