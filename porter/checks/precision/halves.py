"""What is sixteen bits wide as it stands there: `x.half()`, `x.to(torch.bfloat16)`, a view of it, a name for it."""

from __future__ import annotations

import ast

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import Link, Node
from porter.python.names import Names

TYPES = frozenset({"torch.float16", "torch.half", "torch.bfloat16"})
_VIEWS = frozenset("flatten view reshape transpose permute squeeze unsqueeze contiguous t".split())
_INPUTS = ("input", "target")


def takes_half(names: Names, link: Link) -> bool:
    """Whether a call is handed such a tensor, or asked to compute in such a type. `link` is of what is called."""
    call = link[1][0]
    if call.__class__ is not ast.Call or call.func is not link[0]:
        return False
    given = [*call.args[:2], *(k.value for k in call.keywords if k.arg in _INPUTS)]
    dtypes = [k.value for k in call.keywords if k.arg == "dtype"]
    if dtypes:
        return names.resolve(dtypes[0], link) in TYPES
    return any(_is_half(node, names, link) for node in given)


def _is_half(node: Node, names: Names, link: Link) -> bool:
    node = _seen_through(node)
    if node.__class__ is ast.Name:
        values = values_of(names, node, link)
        return bool(values) and all(_is_cast(_seen_through(value), names, link) for value in values)
    return _is_cast(node, names, link)


def _seen_through(node: Node) -> Node:
    while True:
        if node.__class__ is ast.Subscript:
            node = node.value
        elif node.__class__ is ast.Call and node.func.__class__ is ast.Attribute and node.func.attr in _VIEWS:
            node = node.func.value
        else:
            return node


def _is_cast(node: Node, names: Names, link: Link) -> bool:
    """A cast, or what a layer of the module makes of one: `self.gate(x.half())`."""
    if node.__class__ is not ast.Call:
        return False
    func = node.func
    if func.__class__ is ast.Attribute and getattr(func.value, "id", "") == "self" and len(node.args) == 1:
        return _is_cast(node.args[0], names, link)
    method = call_name(func) if func.__class__ is ast.Attribute else ""
    if method in ("half", "bfloat16"):
        return not node.args
    return method == "to" and any(
        names.resolve(a, link) in TYPES for a in (*node.args, *(k.value for k in node.keywords))
    )
