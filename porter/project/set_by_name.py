"""Says which attributes of objects a file sets by names made at run time: `for k in ("a", "b"): setattr(x, k, 0)` sets two."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name, constant
from porter.python.index import Node
from porter.python.trees import parse
from porter.python.walks import walk

_CALL = b"setattr("
# options are set so by many programs, and an object's own values by its class
_OWN = frozenset({"self", "args", "opt", "opts", "cfg", "config", "hparams", "hps", "namespace", "params"})


def may_set(name: str, names: frozenset[str] | None) -> bool:
    """`names`: what `set_by_name` says."""
    return names is None or name in names


def set_by_name(text: bytes, own: bool = False) -> frozenset[str] | None:
    """The attributes; None for any. What another object has under the same name is no value that was not there before. `own`: with
    those of `self`, and of options."""
    tree = parse(text) if _CALL in text else ast.Module([], [])
    if tree is None:
        return None
    calls = [node for node in walk(tree) if _sets(node, own)]
    loops = [node for node in walk(tree) if isinstance(node, (ast.For, ast.AsyncFor))] if calls else []
    around = {call: loop for loop in loops for call in walk(loop) if call in calls}  # the innermost is the last
    found: set[str] = set()
    for call in calls:
        names = _names(call, around.get(call))
        if names is None:
            return None
        found |= names
    return frozenset(found)


def _sets(node: Node, own: bool) -> bool:
    if node.__class__ is not ast.Call or getattr(node.func, "id", "") != "setattr" or len(node.args) != 3:
        return False
    return (own or getattr(node.args[0], "id", "") not in _OWN) and not isinstance(constant(node.args[1]), str)


def _names(call: ast.Call, loop: ast.For | ast.AsyncFor | None) -> set[str] | None:
    key, value = call.args[1:]
    if loop is None or not isinstance(key, ast.Name):
        return None
    if isinstance(value, ast.Call) and call_name(value.func) == "getattr" and _is(value.args[1:2], key.id):
        return set()
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    place = next((n for n, target in enumerate(targets) if _is([target], key.id)), None)
    if place is None:
        return None
    if _is_of_another(loop.iter):
        return set() if place == 0 and _is(targets[1:2], getattr(value, "id", "")) else None
    listed = loop.iter
    if isinstance(listed, ast.Call) and call_name(listed.func) == "zip" and place < len(listed.args):
        listed = listed.args[place]
    elif len(targets) > 1:
        return None
    names = [constant(item) for item in getattr(listed, "elts", ())]
    return (
        {name for name in names if isinstance(name, str)} if names and all(isinstance(n, str) for n in names) else None
    )


def _is(nodes: list[ast.expr], name: str) -> bool:
    return bool(name) and [getattr(node, "id", "") for node in nodes] == [name]


def _is_of_another(values: ast.expr) -> bool:
    """`other.__dict__.items()`, `vars(other).items()`"""
    if (
        not isinstance(values, ast.Call)
        or call_name(values.func) != "items"
        or not isinstance(values.func, ast.Attribute)
    ):
        return False
    held = values.func.value
    return getattr(held, "attr", "") == "__dict__" or isinstance(held, ast.Call) and call_name(held.func) == "vars"
