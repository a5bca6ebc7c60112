"""Finds the names of the loss where a program goes backwards, and the loops that call a function which does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, owner_of
from porter.training.loops import LOOPS


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
