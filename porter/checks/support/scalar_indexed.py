"""`loss.data[0]`: since torch 0.5 a tensor of one value has no dimension that could be indexed."""

from __future__ import annotations

import ast
import re

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

# with no gradient of its own: that is for a single value alone
_BACKWARD = rb"\b%s\.backward\([ \t]*(?:\)|retain_graph|create_graph)"


class ScalarIndexed(Rule):
    code = "PRT711"
    nodes = ("Subscript",)
    text = r"data\[0\]"

    def visit(self, original: cst.Subscript, updated: cst.Subscript, file: RuleFile) -> Answer:
        data = original.value
        if not isinstance(data, cst.Attribute) or data.attr.value != "data" or not _is_first(original):
            return None
        value = file.text(data.value)
        if not isinstance(data.value, (cst.Name, cst.Attribute)) or not file.is_object(data.value):
            return None
        link = file.scene.link_of(original, ast.Subscript)
        if link is None or link[0].ctx.__class__ is not ast.Load:
            return None
        around = file.scene.function(link) if isinstance(data.value, cst.Name) else None
        if not file.source.says(re.compile(_BACKWARD % re.escape(value.encode())), around and around[0]):
            return None
        new = cst.Call(cst.Attribute(data.value, cst.Name("item")))
        values = (("new", f"{value}.item()"), ("old", file.text(original)))
        return Hit(original, "found", new=new, values=values)


def _is_first(node: cst.Subscript) -> bool:
    """`x[0]`"""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return isinstance(index, cst.Index) and isinstance(index.value, cst.Integer) and index.value.value == "0"
