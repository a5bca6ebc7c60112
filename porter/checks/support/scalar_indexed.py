"""`loss.data[0]`, `total_loss[0]`: since torch 0.5 a tensor of one value has no dimension that could be indexed."""

from __future__ import annotations

import ast
from typing import Any

from porter.checks.performance import kept_sums
from porter.checks.support.computed_singles import is_single
from porter.checks.support.returned_losses import is_returned_loss
from porter.checks.support.single_values import REDUCED, is_loss, is_reduced, is_sum_of_losses
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile

_OF_ALL = frozenset({"max", "min", "sum", "mean", "norm", "prod", "std", "var"})  # asked alone, they give one value


class ScalarIndexed(Rule):
    code = "PRT711"
    nodes = ("Subscript",)
    text = (r"data\[0\]", r"loss\w*\[0\]")  # each begins with letters, which is found in a tenth of the time

    def visit(self, original: cst.Subscript, updated: cst.Subscript, file: RuleFile) -> Answer:
        value = original.value
        if isinstance(value, cst.Attribute) and value.attr.value == "data":
            value = value.value
        elif not isinstance(value, cst.Name) or "loss" not in value.value.lower():
            return None
        if not _is_first(original):
            return None
        link = file.scene.link_of(original, ast.Subscript)
        if link is None or link[0].ctx.__class__ is not ast.Load or _is_indexed_on(link):
            return None
        if isinstance(value, cst.Call) and value is not original.value:
            return self._of_call(value, original, file)
        if not isinstance(value, cst.BinaryOperation) and not (
            isinstance(value, (cst.Name, cst.Attribute)) and file.is_object(value)
        ):
            return None
        name = file.link(value) if isinstance(value, cst.Name) else None
        if value is original.value:
            if name is None or not is_sum_of_losses(name, file):
                return None
        elif not _is_known(value, name, link, file):
            return None
        if value is not original.value and (read := kept_sums.read_later(file.scene, link)) is not None:
            new = _called(_called(value, "detach"), "float")
            values = (("new", f"{file.text(value)}.detach().float()"), ("old", file.text(original)))
            return Hit(original, "summed", new=new, values=values, more=(read,))
        new = _item(value, original)
        values = (("new", f"{file.text(value)}.item()"), ("old", file.text(original)))
        return Hit(original, "found", new=new, values=values)

    @staticmethod
    def _of_call(call: cst.Call, original: cst.Subscript, file: RuleFile) -> Answer:
        """`F.cross_entropy(x, y, size_average=False).data[0]`, `x.max().data[0]`."""
        link = file.scene.link(call)
        if link is None or not (
            _is_single(call, file) and is_reduced(link[1][0]) or is_single(link[1][0], link[1], file)
        ):
            return None
        text = file.text(call.func)
        values = (("new", f"{text}(...).item()"), ("old", f"{text}(...).data[0]"))
        return Hit(original, "found", new=_item(call, original), values=values)


def _is_known(value: cst.BaseExpression, name: Link | None, link: Link, file: RuleFile) -> bool:
    """Whether what has `.data` is one value: a loss, or `(loss_real + torch.abs(difference))`. `link`: of the subscript."""
    if is_loss(file.text(value), name, file) or name is not None and is_returned_loss(name, file):
        return True
    whole = link[0].value.value
    return is_single(whole, (whole, (link[0].value, link)), file)


def _is_single(call: cst.Call, file: RuleFile) -> bool:
    """A sum or a mean, where it is not told to be neither; the largest of all values."""
    if file.name(call.func) in REDUCED:
        return True
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _OF_ALL and not call.args


def _is_indexed_on(link: Link) -> bool:
    """`x.data[0][0]`: what is not of one value alone."""
    above: Any = link[1] and link[1][0]
    return above.__class__ is ast.Subscript and above.value is link[0]


def _called(value: cst.BaseExpression, method: str) -> cst.Call:
    return cst.Call(cst.Attribute(value, cst.Name(method)))


def _item(value: cst.BaseExpression, original: cst.Subscript) -> cst.Call:
    return _called(value, "item").with_changes(lpar=original.lpar, rpar=original.rpar)


def _is_first(node: cst.Subscript) -> bool:
    """`x[0]`"""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return isinstance(index, cst.Index) and isinstance(index.value, cst.Integer) and index.value.value == "0"
