"""Classes as an older torch took them: a Function whose instances are called, a Sampler that is handed its data, an optimizer around
another that is not made as one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.checks.support.older_functions import is_called
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.index import heir
from porter.training.optimizer_wrappers import is_unmade

if TYPE_CHECKING:
    from porter.training.scene import Scene

_FUNCTIONS = frozenset(
    f"torch.autograd.{name}" for name in ("Function", "function.Function", "function.InplaceFunction")
)
_SAMPLERS = frozenset({"torch.utils.data.Sampler", "torch.utils.data.sampler.Sampler"})
_OPTIMIZERS = frozenset({"torch.optim.Optimizer", "torch.optim.optimizer.Optimizer"})


def _may_matter(scene: Scene, link: Link) -> bool:
    """A mention of such a class, or a call of `super().__init__` in a file that has a Sampler."""
    return getattr(link[0], "attr", "") != "__init__" or scene.file.source.says(b"Sampler")


class OlderClass(Rule):
    code = "PRT720"
    references = _FUNCTIONS | _OPTIMIZERS
    methods = {"__init__"}
    only = staticmethod(_may_matter)

    def visit(self, original: cst.BaseExpression, updated: cst.BaseExpression, file: RuleFile) -> Answer:
        if isinstance(original, cst.Call) and isinstance(updated, cst.Call):
            return self._sampler(original, updated, file)
        link = file.link(original)
        owner = heir(link) if link is not None else None
        if owner is not None and file.name(original) in _OPTIMIZERS:
            return Hit(original, "optimizer", values=(("name", owner.name),)) if is_unmade(owner) else None
        if owner is None or not is_called(file, owner):
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
