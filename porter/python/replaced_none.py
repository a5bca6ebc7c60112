"""`device = "cuda" if device is None else device`: a parameter that is None by default, and no longer below this."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Names
from porter.python.assigned import last_above, runs_before
from porter.python.evidence import call_name, constant
from porter.python.index import Link
from porter.python.unset_options import says


def is_replaced(names: Names, name: ast.Name, link: Link) -> bool:
    """Whether what binds a name last above its use gives it a value where it is None: as above, by `device = device or "cuda"`, or by
    `if device is None: device = "cuda"`."""
    last = last_above(names, name.id, link, name.lineno - 1)
    assign = last[1] if last is not None else None
    if assign is None or not isinstance(assign[0], ast.Assign):
        return False
    value, words, around = assign[0].value, ast.dump(name), assign[1]
    if isinstance(value, ast.BoolOp):
        chosen = isinstance(value.op, ast.Or) and ast.dump(value.values[0]) == words and _is_value(value.values[-1])
    elif isinstance(value, ast.IfExp):
        chosen = says(value.test, ast.Is, words) and _is_value(value.body)
    elif around is not None and isinstance(around[0], ast.If) and not around[0].orelse:
        return says(around[0].test, ast.Is, words) and _is_value(value) and runs_before(around, link)
    else:
        return False
    return chosen and runs_before(assign, link)


def _is_value(node: ast.expr) -> bool:
    """What is not None: a constant, or a device that is made."""
    return constant(node) is not None or isinstance(node, ast.Call) and call_name(node.func) == "device"
