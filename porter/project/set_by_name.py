"""Says which attributes of objects a file sets by names made at run time: `for k in ("a", "b"): setattr(x, k, 0)` sets two."""

from __future__ import annotations

import ast
from functools import lru_cache

from porter.python.evidence import call_name, constant
from porter.python.index import Node
from porter.python.trees import parse
from porter.python.walks import walk

_CALL = b"setattr("
_LOOPS = (ast.For, ast.AsyncFor)
_KEPT = 64  # texts
# options are set so by many programs, and an object's own values by its class
_OWN = frozenset({"self", "args", "opt", "opts", "cfg", "config", "hparams", "hps", "namespace", "params"})


def may_set(name: str, names: frozenset[str] | None) -> bool:
    """`names`: what `set_by_name` says."""
    return names is None or name in names


@lru_cache(_KEPT)
def set_by_name(text: bytes, own: bool = False) -> frozenset[str] | None:
    """The attributes; None for any. What another object has under the same name is no value that was not there before. `own`: with
    those of `self`, and of options."""
    tree = parse(text) if _CALL in text else ast.Module([], [])
    if tree is None:
        return None
    around: dict[Node, Node] = {}  # the loop around each call, the innermost
    for node in walk(tree):  # from outside to inside
        around |= {call: node for call in walk(node) if _sets(call, own)} if isinstance(node, _LOOPS) else {}
    found: set[str] = set()
    for call in (node for node in walk(tree) if _sets(node, own)):
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
    if isinstance(value, ast.Call) and call_name(value.func) == "getattr" and _is(value.args[1:], key.id):
        return set()  # without a default, which would be a new value
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
    items = getattr(listed, "elts", ())
    names = {name for item in items if isinstance(name := constant(item), str)}
    return names if names and len(items) == sum(isinstance(constant(item), str) for item in items) else None


def _is(nodes: list[ast.expr], name: str) -> bool:
    return bool(name) and [getattr(node, "id", "") for node in nodes] == [name]


def _is_of_another(values: ast.expr) -> bool:
    """`other.__dict__.items()`, `vars(other).items()`"""
    function = values.func if isinstance(values, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr != "items":
        return False
    held = function.value
    return getattr(held, "attr", "") == "__dict__" or isinstance(held, ast.Call) and call_name(held.func) == "vars"
