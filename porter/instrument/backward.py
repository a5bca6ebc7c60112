"""Backward passes: where they are, and what the loss is called there."""

from __future__ import annotations

import ast
from typing import NamedTuple

from porter.analysis.file import File
from porter.instrument.naming import functions_around, is_cheap, is_optimizer, statement_of
from porter.python.evidence import call_name, constant, target_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.regex import lazy
from porter.training.loops import LOOPS

_BACKWARDS = frozenset({"backward", "manual_backward"})
_TAKES_LOSS = lazy(r"(?i)accelerat|engine|fabric|model|self|strategy|ddp|optim|trainer|booster|scaler|net$")
_PASSES = lazy(r"(?i)accum|micro|n_?iters|steps")


class Backward(NamedTuple):
    link: Link  # of the statement
    loss: Node | None  # what it is called; None where an expression computes it


def backwards(file: File) -> list[Backward]:
    found = []
    for link in file.buckets[ast.Call]:
        call = link[0]
        if call.func.__class__ is ast.Attribute and call.func.attr in _BACKWARDS and not _defines_gradient(link):
            if (loss := _loss_of(call)) is not None:
                found.append(Backward(statement_of(link), _unscaled(loss, link)))
    return sorted(found, key=lambda backward: backward.link[0].lineno)


def _defines_gradient(link: Link) -> bool:
    """`backward` of an autograd function."""
    return any(f.args.args[:1] and f.args.args[0].arg == "ctx" for f in functions_around(link))


def _loss_of(call: Node) -> Node | None:
    receiver = call.func.value
    if call.args and _TAKES_LOSS.search(target_name(receiver)):
        return call.args[0]
    if getattr(receiver, "id", "") == "autograd" or target_name(receiver) == "autograd":
        return call.args[0] if call.args else None
    return None if is_optimizer(receiver) else receiver


def _unscaled(loss: Node, link: Link) -> Node | None:
    if loss.__class__ is ast.Call and call_name(loss.func) in ("scale", "scale_loss") and loss.args:
        loss = loss.args[0]  # scaler.scale(loss)
    for above in ancestors(link):  # with amp.scale_loss(loss, optimizer) as scaled_loss
        for item in above[0].items if above[0].__class__ is ast.With else ():
            given = item.context_expr
            if getattr(item.optional_vars, "id", None) == getattr(loss, "id", "") and getattr(given, "args", ()):
                loss = given.args[0]
    return loss if is_cheap(loss) else None


def call_in(backward: Backward) -> Node:
    calls = (n for n in walk(backward.link[0]) if n.__class__ is ast.Call)
    return next(call for call in calls if call_name(call.func) in _BACKWARDS)


def is_divided(loss: str, backward: Backward) -> bool:
    """`loss = loss / accumulation_steps`: the passes of a step add up to its loss."""
    function = next(
        (above[0] for above in ancestors(backward.link) if above[0].__class__ in (*LOOPS, *FUNCTIONS)), None
    )
    for node in walk(function) if function is not None else ():
        if node.__class__ is ast.Assign and ast.unparse(node.targets[0]) == loss:
            divisors = [n.right for n in walk(node.value) if n.__class__ is ast.BinOp and n.op.__class__ is ast.Div]
        elif node.__class__ is ast.AugAssign and node.op.__class__ is ast.Div and ast.unparse(node.target) == loss:
            divisors = [node.value]
        else:
            continue
        if any(map(counts_passes, divisors)):
            return True
    return False


def counts_passes(divisor: Node) -> bool:
    """Whether a loss is divided by the number of passes of a step, not by that of samples."""
    return bool(_PASSES.search(ast.unparse(divisor))) or constant(divisor) is not None
