"""What runs before a place, as far as one block shows it."""

from __future__ import annotations

import ast
import re

from .evidence import call_name
from .index import FUNCTIONS, Link, ancestors

_OTHERWISE = re.compile(rb"spawn|forkserver|set_start_method")
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


def woken(scene, link: Link) -> str | None:
    """Of a process that is forked and works on the device: what its parent has asked of the device before."""
    names = scene.names
    if _OTHERWISE.search(scene.file.source.utf8) or (found := touched_before(names, link)) is None:
        return None
    call = link[1][0]
    target = next((k.value for k in call.keywords if k.arg in ("target", "initializer")), None)
    if target.__class__ is not ast.Name:
        return None
    top = [above[0] for above in ancestors(link)][-1]
    functions = [s for s in ast.walk(top) if s.__class__ in FUNCTIONS[:2] and s.name == target.id]
    if len(functions) != 1:
        return None
    works = any(_touch(statement, link, names) for statement in functions[0].body)
    return found if works else None


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
