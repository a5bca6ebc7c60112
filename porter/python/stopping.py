"""Finds questions for a GPU without which the program ends: `if torch.cuda.is_available(): ... else: raise ...`."""

from __future__ import annotations

import ast
import operator

from porter.python.blocks import below
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors

_EXITS = frozenset({"exit", "_exit", "quit", "abort"})
# `device_count() > 0`, `device_count() == 0`: there is a device, there is none
MORE, LESS = (ast.Gt, ast.GtE, ast.NotEq), (ast.Eq, ast.Lt, ast.LtE)
_COMPARE = {
    **dict(zip(LESS, (operator.eq, operator.lt, operator.le))),
    **dict(zip(MORE, (operator.gt, operator.ge, operator.ne))),
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
}


def stops_without_gpu(question: Link | None) -> bool:
    """Whether the program ends if the question is answered with no."""
    child, answer = question[0] if question else None, False  # the value of the condition without a GPU
    for up in ancestors(question):
        above, kind = up[0], up[0].__class__
        if kind is ast.UnaryOp and isinstance(above.op, ast.Not):
            answer = not answer
        elif kind is ast.Compare and child is above.left:
            compared = _compared(above, answer)
            if compared is None:
                return False
            answer = compared
        elif kind is ast.BoolOp:
            if isinstance(above.op, ast.Or) is not answer:
                return False  # something else decides as well
        elif kind is ast.If:
            return child is above.test and ends(above.body if answer else _without(up))
        elif kind is not ast.Attribute and (kind is not ast.Call or child is not above.func):
            return False
        child = above
    return False


def _compared(node: ast.Compare, answer: bool) -> bool | None:
    """What a comparison gives for an answer without a GPU: `False == True`, or `0 == 8` for a number of GPUs. With what is no number,
    it is taken for a question whether there are enough: `device_count() < args.gpus`. None where nobody knows."""
    by, value = node.ops[0].__class__, node.comparators[0]
    if by in _COMPARE and isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
        return bool(_COMPARE[by](answer, value.value))
    return (by in LESS) is not answer if by in (*MORE, *LESS) else None


def _without(branch: Link) -> list[ast.stmt]:
    """The statements that run if the condition is false; without an `else`, only the first of them."""
    return after(branch) if branch[0].orelse else after(branch)[:1]


def after(branch: Link) -> list[ast.stmt]:
    """The statements that run only if the condition is false: the `else`, or what follows a branch that returns."""
    node = branch[0]
    return list(node.orelse) if node.orelse or not isinstance(node.body[-1], ast.Return) else below(branch)


def ends(block: list[ast.stmt]) -> bool:
    """Whether the program ends behind a block: it raises, or exits."""
    last: Node = block[-1] if block else None
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return call_name(last.value.func) in _EXITS
    return isinstance(last, ast.Raise)
