"""Functions of a file that end in a CUDA kernel whatever they are given: a guard in front of one is a guard of the kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from porter.python.evidence import device_like
from porter.python.index import Link, Node, walk

if TYPE_CHECKING:
    from porter.python.file import File

Calls = Callable[["File", Node, Link], bool]  # whether a call of this name starts a kernel

_PLAIN = (ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)  # statements without branches of their own


def leads(file: File, node: Node, calls: Calls) -> bool:
    """Whether a name is a function of the file that calls a kernel on each of its ways, and asks for no device itself."""
    functions = file.names.scopes.functions.get(node.id, ()) if node.__class__ is ast.Name else ()
    known, key = file.answers["functions with kernels"], (calls, getattr(node, "id", ""))
    if functions and key not in known:
        before = len(known)
        known[key] = False  # as long as it is looked for, for functions that call each other
        known[key] = all(not _asks(link[0]) and _runs(file, link[0].body, link, calls) for link in functions)
        if known[key]:  # a no that was said meanwhile may rest on that one
            for later in [*known][before + 1 :]:
                if not known[later]:
                    del known[later]
    return bool(functions) and bool(known[key])


def _asks(function: Node) -> bool:
    """Whether a function chooses its way by the device."""
    nodes = [node for statement in function.body for node in walk(statement)]
    if any(node.__class__ is ast.Compare and any(map(device_like, (node.left, *node.comparators))) for node in nodes):
        return True
    return any(getattr(node, "attr", "") in ("is_cuda", "is_available") for node in nodes)


def _runs(file: File, block: list[Node], link: Link, calls: Calls) -> bool:
    """Whether one of the statements calls a kernel; of a branch, on both sides."""
    for statement in block:
        kind = statement.__class__
        if kind is ast.If:
            found = all(_runs(file, side, link, calls) for side in (statement.body, statement.orelse))
        elif kind in (ast.With, ast.For):
            found = _runs(file, statement.body, link, calls)
        else:
            made = [node for node in walk(statement) if node.__class__ is ast.Call] if kind in _PLAIN else []
            found = any(calls(file, call.func, link) or leads(file, call.func, calls) for call in made)
            found = found or any(
                calls(file, given, link) for call in made for given in call.args if _is_imported(file, given, link)
            )
        if found:
            return True
    return False


def _is_imported(file: File, given: Node, link: Link) -> bool:
    """Whether what a call gets is a part of an imported module: `applier(amp_C.multi_tensor_scale, buffer, lists)`."""
    return given.__class__ is ast.Attribute and bool(file.names.resolve(given, link))
