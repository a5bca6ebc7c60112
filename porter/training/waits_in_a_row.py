"""Finds rows of waits in a function: waits without work for the device between them. Only the first really waits for it."""

from __future__ import annotations

import ast

from porter.python.blocks import BODIES, once, place
from porter.python.evidence import call_name
from porter.python.index import Link, Node, walk
from porter.python.waits import READS
from porter.rulebook.table import hints

_QUIET = hints("gives-no-work")  # functions that give the device no work
_MOST = 40  # statements that are looked at above a wait


def first_line(statement: Link) -> int:
    """The line of the first wait in the row of waits that ends with this statement."""
    first, seen = _waits(statement[0]) or statement[0].lineno, 0
    while statement[1] is not None and isinstance(statement[0], ast.stmt) and seen < _MOST:
        around = statement[1][0]
        field, index = place(around, statement[0])
        if field not in BODIES:
            break
        block = getattr(around, field)
        for sibling in reversed(block[:index]):
            seen += 1
            if not is_quiet(sibling):
                return first
            first = _waits(sibling) or first
        if not (around.__class__ is ast.If and _is_quiet_part(around.test) or _is_quiet_loop(around)):
            break
        statement = statement[1]
    return first


@once
def is_quiet(statement: Node) -> bool:
    """Whether a statement gives the device no work: all its calls read values, or compute on the host."""
    return _is_quiet_part(statement)


def _is_quiet_part(node: Node) -> bool:
    return all(_is_quiet_call(n) for n in walk(node) if n.__class__ is ast.Call)


def _is_quiet_call(call: Node) -> bool:
    name = call_name(call.func)
    root_name = getattr(getattr(call.func, "value", None), "id", "")
    # `x.max()` may read a number, `torch.max(x)` is work
    return name in READS or name in _QUIET and root_name != "torch" or root_name == "math"


def _is_quiet_loop(node: Node) -> bool:
    return node.__class__ is ast.For and is_quiet(node)


def _waits(statement: Node) -> int | None:
    """The line in which a statement certainly waits. A wait inside of an `if`, `while` or `try` may not run, so it does not
    count; the body of a `for` does."""
    if statement.__class__ in (ast.If, ast.While, ast.Try):
        return None
    reads = (n.func.end_lineno for n in walk(statement) if n.__class__ is ast.Call and call_name(n.func) in READS)
    return min(reads, default=None)
