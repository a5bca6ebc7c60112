"""Finds code that refuses GPUs: `if device == "cuda": raise ...`. With a renamed device it would refuse NPUs."""

from __future__ import annotations

import ast

from porter.python.blocks import BODIES, place
from porter.python.evidence import call_name, constant, device_like, is_log
from porter.python.index import FUNCTIONS, Link, Node, ancestors, parents, walk

_EXITS = frozenset({"exit", "_exit", "quit", "abort", "fail", "error", "skip"})  # functions that end a program or test
_ASKED = frozenset({"startswith", "__contains__"})  # methods that compare a device with a string
# comparisons that are true for the devices that they name, and for all others
YES, NO = (ast.Eq, ast.Is, ast.In), (ast.NotEq, ast.IsNot, ast.NotIn)


def refuses(link: Link | None) -> bool:
    """Whether a device is compared with this string, and equality alone makes the program stop.

    The own device of a tensor does not count: code that needs a tensor on the host refuses NPUs for the same reason as GPUs.
    """
    if link is None:
        return False
    child, answer = link[0], None  # the value of the comparison if the device is CUDA's
    for up in ancestors(link):
        above, kind = up[0], up[0].__class__
        if kind in (ast.List, ast.Tuple, ast.Set) and answer is None:
            child = above
            continue
        if kind is ast.Compare and answer is None:
            if len(above.ops) != 1 or not any(
                _is_chosen(s) for s in (above.left, *above.comparators) if s is not child
            ):
                return False
            answer = isinstance(above.ops[0], YES)
            if not isinstance(above.ops[0], (*YES, *NO)):
                return False
        elif kind is ast.Call and answer is None and child is not above.func:
            if call_name(above.func) in _ASKED and _is_chosen(getattr(above.func, "value", None)):
                answer = True
            elif call_name(above.func) != "device":
                return False
        elif kind is ast.UnaryOp and isinstance(above.op, ast.Not) and answer is not None:
            answer = not answer
        elif kind is ast.BoolOp and answer is not None:
            if isinstance(above.op, ast.Or) is not answer:
                return False  # another condition decides as well
        elif kind is ast.If:
            return answer is True and child is above.test and only_stops(above.body) and _is_asked_always(up)
        else:
            return kind is ast.Assert and answer is False and child is above.test and _is_asked_always(up)
        child = above
    return False


def _is_asked_always(link: Link) -> bool:
    """Whether the program always comes to this statement: around and above it, only the device is asked for."""
    child = link[0]
    for above in parents(link):
        field, index = place(above, child)
        if field in BODIES and any(
            isinstance(s, (ast.If, ast.Try)) and _leaves(s) for s in getattr(above, field)[:index]
        ):
            return False
        if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
            return True
        if isinstance(above, ast.If):
            if field != "orelse" or not isinstance(above.test, ast.Compare) or not _is_chosen(above.test.left):
                return False
        elif isinstance(above, (ast.Try, ast.While, ast.ExceptHandler)) or above.__class__.__name__ == "match_case":
            return False
        child = above
    return True


def _leaves(statement: Node) -> bool:
    return any(isinstance(n, (ast.Return, ast.Continue, ast.Break)) for n in walk(statement))


def _is_chosen(side: Node) -> bool:
    """Whether an expression is the device that the user chose: `device`, `self.device.type`, `args.device`, `str(device)`."""
    if not device_like(side):
        return False
    while side.__class__ in (ast.Attribute, ast.Call):
        if side.__class__ is ast.Call:
            side = side.args[0] if side.args else getattr(side.func, "value", None)
        elif side.attr == "type":
            side = side.value
        else:
            side = side.value
            return getattr(side, "id", "") in ("self", "cls") or _is_options(side)
    return side.__class__ is ast.Subscript or side.__class__ is ast.Name


def _is_options(node: Node) -> bool:
    word: str = getattr(node, "attr", "") or getattr(node, "id", "")
    return word.lower().endswith(
        ("args", "opt", "opts", "options", "cfg", "conf", "config", "params", "flags", "settings")
    )


def only_stops(body: list[ast.stmt]) -> bool:
    """Whether a block only stops the program, perhaps with a message."""
    *before, last = body
    if not all(isinstance(s, ast.Expr) and _is_said(s.value) for s in before):
        return False
    if isinstance(last, ast.Assert):
        return constant(last.test) is False
    stops = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and call_name(last.value.func) in _EXITS
    return stops or isinstance(last, ast.Raise)


def _is_said(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or isinstance(value, ast.Call) and is_log(value.func, call_name(value.func))
