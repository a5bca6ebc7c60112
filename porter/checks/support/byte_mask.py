"""`x.masked_fill(mask.byte(), 0)`, `x[mask] = 0` with a mask of uint8: masks are boolean today."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.engine.nodes import chain
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Node, RuleFile
from porter.python.assigned import set_in_block
from porter.python.index import Link, walk
from porter.regex import lazy, rare

if TYPE_CHECKING:
    from porter.training.scene import Scene

_MAKES = rare(rb"uint8(?<=\buint8)\b(?<!np\.uint8)(?<!numpy\.uint8)(?<![\"']uint8)|\.byte\(")  # of torch
_ROWS = lazy(r"torch\.(?:\w*Tensor|cat|stack|arange)")  # what makes a tensor of several values, mostly
_UINT8 = ("uint8", "byte")
_WORDS = frozenset({b"uint8", b"byte"})  # quickly asked
_MASKED = ("masked_fill", "masked_fill_", "masked_scatter", "masked_scatter_", "masked_select")


def _may_mask(scene: Scene, link: Link) -> bool:
    """`x[mask] = 0`, `x.masked_fill(mask, 0)`, where the mask may be one of uint8."""
    node, source = link[0], scene.file.source
    stores = node.__class__ is ast.Subscript
    if stores and (node.ctx.__class__ is not ast.Store or node.slice.__class__ not in (ast.Name, ast.Call)):
        return False
    if _WORDS.isdisjoint(source.words) or not source.says(_MAKES):
        return False
    if not stores or node.slice.__class__ is ast.Call:
        return True
    bindings = scene.file.names.bindings(node.slice.id, (node.slice, link))
    assigned = (bound[1][0] for bound in bindings if bound[1])
    return any(statement.__class__ is ast.Assign and source.says(_MAKES, statement) for statement in assigned)


class ByteMask(Rule):
    code = "PRT709"
    calls = frozenset({"torch.masked_fill", "torch.masked_scatter", "torch.masked_select"})
    methods = frozenset(_MASKED)
    nodes = ("Subscript",)
    only = staticmethod(_may_mask)

    def visit(self, original: cst.Call | cst.Subscript, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Subscript):
            return self._stored(original, updated, file)
        name = file.name(original.func)
        if name is not None and not name.startswith("torch."):
            return None
        return self._masked(original, updated, 0 if name is None else 1, file)

    def _masked(self, original: cst.Call, updated: cst.Call, place: int, file: RuleFile) -> Hit | None:
        if len(original.args) <= place or any(a.star for a in original.args):
            return None
        mask = original.args[place]
        if mask.keyword is not None and mask.keyword.value != "mask" or not _is_uint8(mask.value, file):
            return None
        args = list(updated.args)
        args[place] = args[place].with_changes(value=_as_bool(args[place].value))
        return Hit(mask, "default", new=updated.with_changes(args=args), safe=True)

    def _stored(self, original: cst.Subscript, updated: Any, file: RuleFile) -> Hit | None:
        mask = original.slice[0].slice.value if isinstance(original.slice[0].slice, cst.Index) else None
        if len(original.slice) != 1 or mask is None or not _is_uint8(mask, file):
            return None
        (element,) = updated.slice
        index = element.slice.with_changes(value=_as_bool(element.slice.value))
        new = updated.with_changes(slice=[element.with_changes(slice=index)])
        return Hit(mask, _stores(file, file.scene.link_of(original, ast.Subscript)), new=new, safe=True)


def _stores(file: RuleFile, link: Link | None) -> str:
    """`x[mask] = 0` is refused; `x[mask] = y[mask]`, `x[mask] += 1` and `x[mask] = torch.Tensor(rows)` for a single value."""
    above: Node = link and link[1] and link[1][0]
    if link is None or above.__class__ is not ast.Assign:
        return "several"  # what reads, or computes with what it reads
    rows = file.names.resolve(above.value.func, link) if above.value.__class__ is ast.Call else None
    mask = ast.dump(link[0].slice)
    read = (node for node in walk(above.value) if node.__class__ is ast.Subscript)
    several = any(ast.dump(node.slice) == mask for node in read) or _ROWS.fullmatch(rows or "")
    return "several" if several else "default"  # a name may hold a number


def _is_uint8(node: cst.BaseExpression, file: RuleFile) -> bool:
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Attribute) and node.func.attr.value == "byte" and not node.args
    return isinstance(node, cst.Name) and file.meaning.dtype(node) in _UINT8 and not _is_compared(node, file)


def _is_compared(node: cst.Name, file: RuleFile) -> bool:
    """Whether the last statement above that sets a mask, and that runs whenever the place does, compares: `mask = mask == 1`."""
    link = file.link(node)
    values = set_in_block(file.names, link[0], link) if link is not None else []
    return any(value.__class__ is ast.Compare for value in values)


def _as_bool(node: Any) -> Any:
    if isinstance(node, cst.Call) and chain(node.func)[-1:] in (["byte"], []):
        return node.with_changes(func=node.func.with_changes(attr=cst.Name("bool")))
    return cst.Call(cst.Attribute(node, cst.Name("bool")))
