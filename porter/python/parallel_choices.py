"""Finds questions about devices that lead to DataParallel alone: without it, one device trains."""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING

from porter.python.evidence import MOVES, constant, is_log_call, target_name
from porter.python.handed_on import attributes
from porter.python.index import Link, Node, ancestors, walk
from porter.python.opened import branch
from porter.python.stopping import LESS, MORE

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.python.file import File

_PARALLEL = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
_OF_A_QUESTION = (ast.Attribute, ast.Call, ast.Compare)
_COUNT, _ASKED = "torch.cuda.device_count", "torch.cuda.is_available"
_IN_PARALLEL = frozenset({"torch.nn.parallel.data_parallel", "torch.nn.parallel.data_parallel.data_parallel"})


def parallel(file: File | RuleFile, link: Link, yes: bool = True) -> tuple[str, str] | None:
    """The choice of a branch that wraps a model in DataParallel and does nothing else. Without it, one device trains. Where the
    other way has the plain model, `else: wrapped = model`, the branch may move the wrapped one as well."""
    name, wrapped = "", ""
    others = {target_name(s.targets[0]) for s in branch(link[0], not yes) if isinstance(s, ast.Assign)}
    for part in branch(link[0], yes):
        call: Node = part if isinstance(part, ast.expr) else getattr(part, "value", None)
        full = (file.names.resolve(call.func, link) if isinstance(call, ast.Call) else None) or ""
        if full in _PARALLEL and isinstance(part, (ast.Assign, ast.Return, ast.expr)) or full in _IN_PARALLEL:
            name, wrapped = full, target_name(part.targets[0]) if isinstance(part, ast.Assign) else ""
        elif not (
            isinstance(part, ast.Expr) and is_log_call(call) or wrapped in others and _moves(part, call, wrapped)
        ):
            return None
    return ("one-device", name) if name else None


def _moves(part: Node, call: Node, wrapped: str) -> bool:
    """`net = net.cuda()` of what was wrapped."""
    func = call.func if isinstance(call, ast.Call) else None
    if not isinstance(func, ast.Attribute) or func.attr not in MOVES:
        return False
    kept = target_name(part.targets[0]) if isinstance(part, ast.Assign) else wrapped
    return kept == wrapped == target_name(func.value)


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
        if test and test[0].__class__ is ast.If and (found := parallel(file, test)) and not test[0].orelse:
            choice = found
            spans.add((test[0].lineno, test[0].end_lineno))
    told = all(any(first <= use[0].lineno <= last for first, last in spans) for use in uses)
    return choice if told else None


def one_device(file: File | RuleFile, link: Link | None) -> str | None:
    """The DataParallel of the branch that a question about a device leads to, or its `else`, if that does nothing else:
    `if x.is_cuda and n > 1`, `if x.is_cuda == False or n < 2: ... else`. `link`: of something in the question."""
    child, yes = link[0] if link else None, True
    for up in ancestors(link) if file.source.says(b"arallel") else ():
        above = up[0]
        if above.__class__ in (ast.If, ast.IfExp) and child is above.test:
            choice = parallel(file, up, yes)
            return choice[1] if choice else None
        if above.__class__ is ast.UnaryOp and isinstance(above.op, ast.Not):
            yes = not yes
        elif above.__class__ is ast.Compare and (holds := _holds(above, child)) is not None:
            yes = yes is holds
        elif isinstance(above, (ast.Compare, ast.UnaryOp, ast.stmt)):
            return None
        elif above.__class__ is ast.BoolOp and isinstance(above.op, ast.And) is not yes:
            return None  # something else leads there as well
        child = above
    return None


def logged_beside(file: File | RuleFile, link: Link | None) -> str | None:
    """The DataParallel of a branch that one question about CUDA alone leads to, where this name is logged there: it stays as the
    question does."""
    if link is None or not file.source.says(b"arallel"):
        return None
    statement = next((up for up in (link, *ancestors(link)) if isinstance(up[0], ast.stmt)), None)
    if statement is None or not isinstance(statement[0], ast.Expr) or not is_log_call(statement[0].value):
        return None
    asking = statement[1][0]
    if not isinstance(asking, ast.If) or statement[0] not in asking.body:
        return None
    places = (up for name in (_COUNT, _ASKED) for up in file.apis.get(name, ()))
    asked = (up for up in places if any(above[0] is asking.test for above in (up, *ancestors(up))))
    return next(filter(None, (one_device(file, up) for up in asked)), None)


def unwraps(file: File | RuleFile, link: Link | None, asked: Link) -> str | None:
    """The DataParallel that a question of the same words leads to, where this one at `asked` leads to what is in it:
    `if distributed or torch.cuda.device_count() > 1: step = model.module.step`."""
    if link is None or not file.source.says(b"DataParallel"):
        return None
    if not any(getattr(node, "attr", "") == "module" for statement in asked[0].body for node in walk(statement)):
        return None
    words = _words(link)
    others = (other for other in file.apis.get(_COUNT, ()) if other[0] is not link[0] and _words(other) == words)
    return next(filter(None, (one_device(file, other) for other in others)), None)


def _words(link: Link) -> str:
    """The comparison that a name is part of: `torch.cuda.device_count() > 1`."""
    parts = takewhile(lambda above: isinstance(above, _OF_A_QUESTION), (up[0] for up in ancestors(link)))
    return ast.unparse([link[0], *parts][-1])


def _holds(test: ast.Compare, child: Node) -> bool | None:
    """Whether a comparison is true where its part `child` is: the name of a device, `x.is_cuda`, a count of devices."""
    kind, other = test.ops[0], test.comparators[0] if child is test.left else test.left
    value = constant(other)
    if type(value) is int:
        return isinstance(kind, MORE) if isinstance(kind, (*MORE, *LESS)) and child is test.left else None
    if not isinstance(kind, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
        return None
    return isinstance(kind, (ast.Eq, ast.Is)) is not (value is False)
