"""Calls as an older torch took them: `StepLR(verbose=True)`, `torch.stft(x, 400)`, masks of uint8."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from porter.engine.nodes import chain
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Link

if TYPE_CHECKING:
    from porter.training.scene import Scene

_SCHEDULERS = frozenset(
    f"torch.optim.lr_scheduler.{name}"
    for name in """ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR LambdaLR LinearLR MultiStepLR
    MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR""".split()
)
_MAKES = re.compile(rb"\bbyte\(|\buint8\b")
_MASKED = ("masked_fill", "masked_fill_", "masked_select")


def _stores(scene: Scene, link: Link) -> bool:
    """`x[mask] = 0`, in a file that makes masks of uint8."""
    if link[0].ctx.__class__ is not ast.Store or link[0].slice.__class__ not in (ast.Name, ast.Call):
        return False
    return scene.file.source.says(_MAKES)


class OlderTorch(Rule):
    code = "PRT707"
    calls = _SCHEDULERS | {"torch.stft", *(f"torch.{name}" for name in _MASKED)}
    methods = frozenset({"stft", *_MASKED})
    nodes = ("Subscript",)
    only = staticmethod(lambda scene, link: link[0].__class__ is not ast.Subscript or _stores(scene, link))

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Subscript):
            return self._stored(original, updated, file)
        name = file.name(original.func)
        if name in _SCHEDULERS:
            return self._verbose(original, updated, name, file)
        method = name is None
        if not method and not name.startswith("torch."):
            return None
        if original.func.attr.value == "stft" if method else name == "torch.stft":
            return self._stft(original, updated, method, file)
        return self._masked(original, updated, 0 if method else 1, file)

    @staticmethod
    def _verbose(original: Any, updated: cst.Call, name: str, file: RuleFile) -> Hit | None:
        at = next((n for n, a in enumerate(original.args) if a.keyword and a.keyword.value == "verbose"), None)
        if at is None or "verbose" in file.session.catalogue.signature(name):
            return None
        args = [a for n, a in enumerate(updated.args) if n != at]
        if at == len(args) and args:  # what was in front of the last argument
            args[-1] = args[-1].with_changes(comma=updated.args[at].comma)
        plain = isinstance(original.args[at].value, cst.Name) and original.args[at].value.value in ("True", "False")
        values = (("name", name.rpartition(".")[2]), ("version", file.session.catalogue.torch))
        # a comment that would go with it is for a person to keep
        new = None if "#" in cst.Module([]).code_for_node(original.args[at]) else updated.with_changes(args=args)
        return Hit(original.args[at], "verbose", new=new, safe=plain, values=values)

    @staticmethod
    def _stft(original: cst.Call, updated: cst.Call, method: bool, file: RuleFile) -> Hit | None:
        given = {a.keyword.value for a in original.args if a.keyword}
        if "return_complex" in given or any(a.star for a in original.args) or len(original.args) + method > 9:
            return None
        if method and file.receiver(original.func) == "other":
            return None
        last = updated.args[-1] if updated.args else None
        if last is None:
            return None
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args = [*updated.args[:-1], last.with_changes(comma=comma)]
        none = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        args.append(cst.Arg(cst.Name("False"), keyword=cst.Name("return_complex"), equal=none, comma=last.comma))
        return Hit(original.func, "stft", new=updated.with_changes(args=args))

    def _masked(self, original: cst.Call, updated: cst.Call, place: int, file: RuleFile) -> Hit | None:
        if len(original.args) <= place or any(a.star for a in original.args):
            return None
        mask = original.args[place]
        if mask.keyword is not None and mask.keyword.value != "mask" or not _is_uint8(mask.value, file):
            return None
        args = list(updated.args)
        args[place] = args[place].with_changes(value=_as_bool(args[place].value))
        return Hit(mask, "mask", new=updated.with_changes(args=args), safe=True)

    def _stored(self, original: cst.Subscript, updated: Any, file: RuleFile) -> Hit | None:
        if len(original.slice) != 1 or not isinstance(original.slice[0].slice, cst.Index):
            return None
        mask = original.slice[0].slice.value
        if not _is_uint8(mask, file):
            return None
        (element,) = updated.slice
        index = element.slice.with_changes(value=_as_bool(element.slice.value))
        return Hit(mask, "mask", new=updated.with_changes(slice=[element.with_changes(slice=index)]), safe=True)


def _is_uint8(node: cst.BaseExpression, file: RuleFile) -> bool:
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Attribute) and node.func.attr.value == "byte" and not node.args
    return isinstance(node, cst.Name) and file.meaning.dtype(node) in ("uint8", "byte")


def _as_bool(node: Any) -> cst.Call:
    if isinstance(node, cst.Call) and chain(node.func)[-1:] in (["byte"], []):
        return node.with_changes(func=node.func.with_changes(attr=cst.Name("bool")))
    return cst.Call(cst.Attribute(node, cst.Name("bool")))
