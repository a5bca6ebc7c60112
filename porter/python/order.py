"""What runs before a place, as far as one block shows it."""

from __future__ import annotations

import ast

from .evidence import call_name
from .index import FUNCTIONS, Link, ancestors

_TOUCHES = ("torch.cuda.", "torch.npu.", "torch_npu.npu.")


def touched_before(names, link: Link) -> str | None:
    """The call that wakes the device in a statement above, in the same function or at the top of the module."""
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if block.__class__ is list and child in block:
                for statement in block[: block.index(child)]:
                    if found := _touch(statement, (statement, above), names):
                        return found
        if node.__class__ in FUNCTIONS:
            return None
        child = node
    return None


def _touch(statement: ast.stmt, link: Link, names) -> str | None:
    stack = [statement]
    while stack:
        node = stack.pop()
        if node.__class__ in FUNCTIONS or node.__class__ is ast.ClassDef:
            continue
        if node.__class__ is ast.Call:
            full = names.resolve(node.func, link)
            if full and full.startswith(_TOUCHES) and not full.rpartition(".")[2].startswith(("manual_seed", "amp")):
                return full
            if (
                full is None
                and node.func.__class__ is ast.Attribute
                and call_name(node.func) in ("cuda", "npu")
                and not node.args
            ):
                return f".{node.func.attr}()"
        stack += ast.iter_child_nodes(node)
    return None
