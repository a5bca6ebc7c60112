"""Finds questions about devices that lead to DataParallel alone: without it, one device trains."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import is_log_call
from porter.python.handed_on import attributes
from porter.python.index import Link, Node, ancestors

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.python.file import File

_PARALLEL = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
_IN_PARALLEL = "torch.nn.parallel.data_parallel"


def parallel(file: File | RuleFile, node: ast.If, link: Link) -> tuple[str, str] | None:
    """The choice of a branch that wraps a model in DataParallel and does nothing else. Without it, one device trains."""
    name = ""
    for statement in node.body:
        call: Node = getattr(statement, "value", None)
        full = file.names.resolve(call.func, link) if isinstance(call, ast.Call) else None
        if isinstance(statement, ast.Assign) and full in _PARALLEL or full == _IN_PARALLEL:
            name = full
        elif not (isinstance(statement, ast.Expr) and is_log_call(call)):
            return None
    return ("one-device", name) if name else None


def kept_for_parallel(file: File, link: Link, child: Node | None) -> tuple[str, str] | None:
    """`count = torch.cuda.device_count()`, of which nothing but a condition is made, and which leads to DataParallel alone.
    `self.parallel = parallel and torch.cuda.device_count() > 1` is as good."""
    target: Node = link[0].targets[0]
    if link[0].value is not child or not file.source.says(b"DataParallel"):
        return None
    if target.__class__ is ast.Name:
        uses = file.names.readers(target.id, (target, link))
    elif getattr(getattr(target, "value", None), "id", "") == "self":
        uses = [*attributes(file.names, "self", getattr(target, "attr", ""))]
    else:
        return None
    choice = None
    spans = set[tuple[int, int]]()
    for use in uses:
        test = next(
            (up for up in ancestors(use) if up[0].__class__ in (ast.If, ast.IfExp) or isinstance(up[0], ast.stmt)), None
        )
        if test and test[0].__class__ is ast.If and (found := parallel(file, test[0], test)) and not test[0].orelse:
            choice = found
            spans.add((test[0].lineno, test[0].end_lineno))
    told = all(any(first <= use[0].lineno <= last for first, last in spans) for use in uses)
    return choice if told else None


def one_device(file: File | RuleFile, link: Link | None) -> str | None:
    """The DataParallel of a branch that a comparison with a device leads to, if the branch does nothing else."""
    child = link[0] if link else None
    for up in ancestors(link):
        above = up[0]
        if above.__class__ is ast.If and child is above.test:
            choice = parallel(file, above, up)
            return choice[1] if choice else None
        if above.__class__ is ast.BoolOp and isinstance(above.op, ast.Or) or isinstance(above, ast.stmt):
            return None
        if above.__class__ is ast.UnaryOp or above.__class__ is ast.Compare and not isinstance(above.ops[0], ast.Eq):
            return None
        child = above
    return None
