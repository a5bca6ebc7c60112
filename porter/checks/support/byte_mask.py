"""`x.masked_fill(mask.byte(), 0)`, `x[mask] = 0` with a mask of uint8: masks are boolean today."""

from __future__ import annotations

import ast
import re

from porter.engine.nodes import chain
from porter.engine.rule import Hit, Rule, cst

_MAKES = re.compile(rb"\bbyte\(|\buint8\b")
_MASKED = ("masked_fill", "masked_fill_", "masked_select")


def _stores(scene, link) -> bool:
    """`x[mask] = 0`, in a file that makes masks of uint8."""
    if link[0].ctx.__class__ is not ast.Store or link[0].slice.__class__ not in (ast.Name, ast.Call):
        return False
    return scene.file.source.says(_MAKES)


class ByteMask(Rule):
    code = "PRT709"
    calls = frozenset(f"torch.{name}" for name in _MASKED)
    methods = frozenset(_MASKED)
    nodes = ("Subscript",)
    only = staticmethod(lambda scene, link: link[0].__class__ is not ast.Subscript or _stores(scene, link))

    def visit(self, original, updated, file):
        if isinstance(original, cst.Subscript):
            return self._stored(original, updated, file)
        name = file.name(original.func)
        if name is not None and not name.startswith("torch."):
            return None
        return self._masked(original, updated, 0 if name is None else 1, file)

    def _masked(self, original, updated, place, file):
        if len(original.args) <= place or any(a.star for a in original.args):
            return None
        mask = original.args[place]
        if mask.keyword is not None and mask.keyword.value != "default" or not _is_uint8(mask.value, file):
            return None
        args = list(updated.args)
        args[place] = args[place].with_changes(value=_as_bool(args[place].value))
        return Hit(mask, "default", new=updated.with_changes(args=args), safe=True)

    def _stored(self, original, updated, file):
        if len(original.slice) != 1 or not isinstance(original.slice[0].slice, cst.Index):
            return None
        mask = original.slice[0].slice.value
        if not _is_uint8(mask, file):
            return None
        (element,) = updated.slice
        index = element.slice.with_changes(value=_as_bool(element.slice.value))
        return Hit(mask, "default", new=updated.with_changes(slice=[element.with_changes(slice=index)]), safe=True)


def _is_uint8(node, file) -> bool:
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Attribute) and node.func.attr.value == "byte" and not node.args
    return isinstance(node, cst.Name) and file.meaning.dtype(node) in ("uint8", "byte")


def _as_bool(node):
    if isinstance(node, cst.Call) and chain(node.func)[-1:] in (["byte"], []):
        return node.with_changes(func=node.func.with_changes(attr=cst.Name("bool")))
    return cst.Call(cst.Attribute(node, cst.Name("bool")))
