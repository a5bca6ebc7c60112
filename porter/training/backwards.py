"""Finds the names of the loss where a program goes backwards, and the loops that call a function which does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from porter.python.assigned import values_of
from porter.python.evidence import OPTION_HOLDERS, call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, owner_of, walk
from porter.python.names import Names
from porter.regex import lazy
from porter.training.loops import LOOPS

_OPTION = lazy(rf"(?:^|[._])(?i:{OPTION_HOLDERS})\.")
_COUNT = lazy(r"(?:^|_)(?:num|n|steps?|iters?|epochs?|freq|count|warm_?up)(?:_|$)")


def scaled(names: set[str], link: Link) -> Iterator[Node]:
    """The losses that a `with` around scales under one of these names: `loss` of `with amp.scale_loss(loss, o) as scaled:`."""
    for above, _ in ancestors(link):
        if above.__class__ is ast.With:
            for item in above.items:
                call = item.context_expr
                if (
                    getattr(item.optional_vars, "id", "") in names
                    and call_name(getattr(call, "func", None)) == "scale_loss"
                ):
                    yield from call.args[:1]


def calling_loops(calls: Iterable[Link], functions: Iterable[Link]) -> Iterator[tuple[Node, Link, set[str]]]:
    """(loop, call, names) for the innermost loops around calls of functions that are a step: of `train_step(batch)`, and of
    `optimizer_step(loss, optimizer)` with the name of the loss. `calls`: all of the file."""
    stepping = {link[0].name: link for link in functions}
    for link in calls if stepping else ():
        function = stepping.get(call_name(link[0].func))
        if function is None or not _is_called(link, function):
            continue
        around = next((a[0] for a in ancestors(link) if a[0].__class__ in LOOPS or a[0].__class__ in FUNCTIONS), None)
        if around.__class__ in LOOPS:
            yield around, link, {a.id for a in link[0].args if a.__class__ is ast.Name and "loss" in a.id}


def _is_called(call: Link, function: Link) -> bool:
    """Whether a call is of this function: by its name, or on `self` in the class of the method."""
    func, owner = call[0].func, owner_of(function)
    if func.__class__ is ast.Name:
        return owner is None and function[1][0].__class__ is ast.Module
    around = next((a[0] for a in ancestors(call) if a[0].__class__ is ast.ClassDef), None)
    return owner is not None and around is owner and getattr(func.value, "id", "") == "self"


def factors(said: Node, names: Names, link: Link) -> Iterator[str]:
    """The names in a product that are numbers: `weight` of `loss + weight * penalty`, where it is set to options and to what is
    computed with them and with counts."""
    for node in walk(said):
        if node.__class__ is ast.BinOp and node.op.__class__ in (ast.Mult, ast.Div):
            for side in (node.left, node.right):
                if side.__class__ is ast.Name:
                    values = values_of(names, side, link)
                    if values and all(map(_is_number, values)):
                        yield side.id


def _is_number(node: Node) -> bool:
    """`0`, `cfg.TRAIN.WEIGHT`, `cfg.WEIGHT + 0.1 * (steps // every)`; a count alone may be a tensor."""
    if node.__class__ is ast.BinOp:
        sides = (node.left, node.right)
        return all(_is_number(s) or _counts(s) for s in sides) and any(map(_is_number, sides))
    if node.__class__ is ast.Attribute:
        return bool(_OPTION.search(ast.unparse(node)))
    return node.__class__ is ast.Constant and isinstance(node.value, (int, float))


def _counts(node: Node) -> bool:
    """`steps`, `steps // update_freq`"""
    if node.__class__ is ast.BinOp:
        return _counts(node.left) and _counts(node.right)
    return node.__class__ is ast.Name and bool(_COUNT.search(node.id))
