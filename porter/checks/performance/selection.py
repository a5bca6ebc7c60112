"""What computes the same as a selection through a mask, with a shape that is known beforehand."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import call_name
from porter.python.index import ancestors
from porter.training.callees import first_calls

LONGEST = 40  # of a piece of source in a message


def chosen(selection: Any, file: RuleFile) -> cst.Call:
    """`torch.where(mask, x, 0)` for `x[mask]`."""
    inner = (selection.slice[0].slice.value, selection.value, cst.Integer("0"))
    return cst.Call(
        cst.Attribute(cst.Name(file.names.torch or "torch"), cst.Name("where")), [cst.Arg(node) for node in inner]
    )


def averaged(call: Any, file: RuleFile) -> cst.Call:
    """`torch.where(mask, x, 0).sum().div(mask.sum())` for `x[mask].mean()`."""
    mask = call.func.value.slice[0].slice.value
    mask = mask if isinstance(mask, cst.Name) else mask.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    total, number = (cst.Call(cst.Attribute(node, cst.Name("sum"))) for node in (chosen(call.func.value, file), mask))
    return cst.Call(cst.Attribute(total, cst.Name("div")), [cst.Arg(number)])


def counted(call: Any, file: RuleFile) -> cst.Call:
    """`torch.count_nonzero(mask).item()` for `len(x[mask])`, `mask.nonzero().size(0)`."""
    selection: Any = call.args[0].value if isinstance(call.func, cst.Name) else call.func.value
    if isinstance(selection, cst.Subscript):
        index: Any = selection.slice[0].slice
        mask = index.value
    else:
        mask = selection.args[0].value if selection.args else selection.func.value
    mask = mask.with_changes(lpar=[], rpar=[])
    count = cst.Call(cst.Attribute(cst.Name(file.names.torch or "torch"), cst.Name("count_nonzero")), [cst.Arg(mask)])
    return cst.Call(cst.Attribute(count, cst.Name("item")))


def short(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= LONGEST else name[: LONGEST - 3] + "..."


def has_no_zero(node: cst.CSTNode, file: RuleFile) -> bool:
    """Whether no element of a tensor is 0, whatever the data are: `torch.ones(2, 2).nonzero()` gives all places."""
    made = file.name(node.func) if isinstance(node, cst.Call) else file.meaning.made_by(node)
    return made in ("torch.ones", "torch.ones_like")


def repeats(link: Link) -> bool:
    """Whether the same statement calls the same thing before."""
    statement = next((a[0] for a in ancestors(link) if isinstance(a[0], ast.stmt)), None)
    return first_calls(statement)[call_name(link[0])] is not link[0]
