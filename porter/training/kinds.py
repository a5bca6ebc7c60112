"""Finds conditions that ask for the type of a value: what stands behind one also takes a number, so its callers decide."""

from __future__ import annotations

import ast

from porter.python.blocks import once
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk

_KINDS = frozenset({"isinstance", "is_tensor", "hasattr"})  # functions that ask for the type of a value


def settled(link: Link) -> bool:
    """Whether a condition around asks for the type of the value that is read: `if isinstance(n, torch.Tensor): n = n.item()`."""
    root = link[0].value
    while root.__class__ in (ast.Call, ast.Attribute):
        root = root.func if root.__class__ is ast.Call else root.value
    return is_asked({getattr(root, "id", "")} - {""}, link)


def is_asked(names: set[str], link: Link) -> bool:
    """Whether a condition around asks for the type of one of these names."""
    child = link[0]
    for above in ancestors(link) if names else ():
        node = above[0]
        if node.__class__ in (ast.If, ast.IfExp) and child is not node.test and not names.isdisjoint(asked(node.test)):
            return True
        child = node
    return False


@once
def asked(test: Node) -> frozenset[str]:
    """The names whose type a condition asks for."""
    asks = (n for n in walk(test) if n.__class__ is ast.Call and n.args and call_name(n.func) in _KINDS)
    return frozenset(getattr(n.args[0], "id", "") for n in asks)
