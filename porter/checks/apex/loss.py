"""Pieces of a training loop on apex.amp: the scaled backward pass, what runs forward before it, clipped gradients.

pattern.py looks for them, scaler.py writes what takes their place. A piece in any form but the known ones raises
Unknown: then the whole file is left to a person.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, walk


class Unknown(Exception):
    """A piece is in a form that nobody has thought about here."""


class Backward(NamedTuple):
    mention: Link  # of `amp.scale_loss`
    whole: ast.stmt  # what becomes `scaler.scale(loss).backward()`
    loss: ast.expr
    arguments: ast.Call  # `scaled_loss.backward(...)`
    clips: tuple[ast.Call, ast.stmt] | None  # in the same branch: master_params' call, and the other branch's statement
    forward: list[ast.stmt]  # what runs under autocast


class Clip(NamedTuple):
    mention: Link  # of `amp.master_params`
    statement: ast.stmt
    call: ast.Call
    whole: ast.stmt | None  # an `if` whose other branch clips all that is to be clipped
    plain: ast.stmt | None  # that branch


def statement_of(link: Link) -> Link:
    """The link of the statement that a node stands in, which may be the node itself."""
    while not isinstance(link[0], ast.stmt):
        link = link[1]
    return link


def suite_of(link: Link) -> list[ast.stmt]:
    """The statements among which a statement stands."""
    for name in ("body", "orelse", "finalbody"):
        suite: list[ast.stmt] = getattr(link[1][0], name, [])
        if link[0] in suite:
            return suite
    raise Unknown


def _same(node: ast.expr, text: str) -> bool:
    """Whether a condition says what `Pattern.enabled` says."""
    expected: Node = ast.parse(text, mode="eval").body if text else None
    if expected.__class__ is ast.Call:  # bool(...)
        expected = expected.args[0]
    return expected is not None and ast.unparse(node) == ast.unparse(expected)


def backward(link: Link, model: str, optimizer: str, enabled: str) -> Backward:
    """`with amp.scale_loss(loss, optimizer) as scaled: scaled.backward()`, alone or with `loss.backward()` in the other
    branch of `if enabled:`. `link` is of `amp.scale_loss`."""
    call, statement = link[1][0], statement_of(link)
    block = statement[0]
    if block.__class__ is not ast.With or len(block.items) != 1 or block.items[0].context_expr is not call:
        raise Unknown
    if (
        len(call.args) != 2
        or _name(call.args[1]) != optimizer
        or [k for k in call.keywords if k.arg != "delay_unscale"]
    ):
        raise Unknown
    scaled, loss = _name(block.items[0].optional_vars), call.args[0]
    back = block.body[0].value if len(block.body) == 1 and block.body[0].__class__ is ast.Expr else None
    if not scaled or back is None or not _backs(back, scaled):
        raise Unknown
    clips = None
    above = statement[1][0]
    if above.__class__ is ast.If and block in above.body and _same(above.test, enabled):
        if len(above.body) != len(above.orelse) or len(above.body) > 2:
            raise Unknown
        other: Node = getattr(above.orelse[0], "value", None)
        if (
            not _backs(other, ast.unparse(loss))
            or ast.unparse(other).rpartition("(")[2] != ast.unparse(back).rpartition("(")[2]
        ):
            raise Unknown
        if len(above.body) == 2:
            calls = [n for n in walk(above.body[1]) if n.__class__ is ast.Call and _masters(n, optimizer)]
            if len(calls) != 1 or not _twins(above.body[1], above.orelse[1], calls[0]):
                raise Unknown
            clips = calls[0], above.orelse[1]
        statement = statement[1]
    suite = suite_of(statement)
    return Backward(link, statement[0], loss, back, clips, _forward(suite, suite.index(statement[0]), model, loss))


def _name(node: Node) -> str:
    return getattr(node, "id", "")


def _masters(call: ast.Call, optimizer: str) -> bool:
    return getattr(call.func, "attr", "") == "master_params" and [_name(a) for a in call.args] == [optimizer]


def _backs(call: Node, value: str) -> bool:
    return (
        call.__class__ is ast.Call
        and call.func.__class__ is ast.Attribute
        and call.func.attr == "backward"
        and ast.unparse(call.func.value) == value
    )


def _forward(suite: list[ast.stmt], end: int, model: str, loss: ast.expr) -> list[ast.stmt]:
    """From the call of the model to the last statement that makes the loss."""
    parts = {n.id for n in walk(loss) if n.__class__ is ast.Name}
    first = next((index for index in range(end) if _calls(suite[index], model)), None)
    if first is None:
        raise Unknown
    makers = (index for index in range(first, end) if any(n.id in parts for n in walk(suite[index]) if _stored(n)))
    last = max(makers, default=-1)
    if last < 0:
        raise Unknown
    for node in (n for s in suite[first : last + 1] for n in walk(s)):
        leaves = isinstance(
            node, (*FUNCTIONS[:2], ast.ClassDef, ast.Return, ast.Import, ast.ImportFrom, ast.Yield, ast.Await)
        )
        if leaves or node.__class__ is ast.Attribute and node.attr in ("backward", "step", "scale_loss"):
            raise Unknown
        text = isinstance(node, ast.JoinedStr) or isinstance(constant(node), (str, bytes))
        if text and node.lineno != node.end_lineno:
            raise Unknown  # the line breaks may be part of it
    return suite[first : last + 1]


def _stored(node: Node) -> bool:
    return node.__class__ is ast.Name and node.ctx.__class__ is ast.Store


def _calls(statement: ast.stmt, model: str) -> bool:
    return any(n.__class__ is ast.Call and _name(n.func) == model for n in walk(statement))


def clip(link: Link, optimizer: str, enabled: str) -> Clip:
    """`clip_grad_norm_(amp.master_params(optimizer), 1.0)`; `link` is of `amp.master_params`."""
    call, statement = link[1][0], statement_of(link)
    outer = link[1][1][0]
    if call.__class__ is not ast.Call or [_name(a) for a in call.args] != [optimizer] or call.keywords:
        raise Unknown
    if (
        outer.__class__ is not ast.Call
        or call not in outer.args
        or statement[0].__class__ not in (ast.Expr, ast.Assign)
    ):
        raise Unknown
    above = statement[1][0]
    if above.__class__ is not ast.If or not _same(above.test, enabled) or statement[0] not in above.body:
        return Clip(link, statement[0], call, None, None)
    same = len(above.body) == len(above.orelse) == 1 and _twins(statement[0], above.orelse[0], call)
    return Clip(link, statement[0], call, above, above.orelse[0] if same else None)


def _twins(statement: ast.stmt, other: ast.stmt, call: ast.Call) -> bool:
    """Whether two statements differ in nothing but whose gradients they clip."""
    head, tail = ast.unparse(statement).split(ast.unparse(call))
    text = ast.unparse(other)
    middle = text[len(head) : len(text) - len(tail)]
    return text.startswith(head) and text.endswith(tail) and middle.endswith("parameters()")
