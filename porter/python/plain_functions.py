"""Says whether a function or a branch is plain Python over torch, so that no CUDA kernel is behind it, whatever its name."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from porter.python.index import Link, Node, walk

if TYPE_CHECKING:
    from porter.python.file import File

_BUILTINS = frozenset(dir(builtins)) - {"eval", "exec", "getattr", "__import__"}
_BUILT = ("torch.ops", "torch.utils.cpp_extension", "torch.classes", "torch.utils.dlpack")
_METHODS = frozenset({"apply", "launch", "run"})  # of an autograd function, or of a kernel
_ATTENTION = "torch.nn.functional.scaled_dot_product_attention"  # which chooses a kernel for its device itself


def attends(file: File, word: str, condition: Link) -> bool:
    """Whether a condition asks by name for fast attention, `enable_flash`, and its branch calls that of torch."""
    above = condition[1][0]
    if "flash" not in word.lower() or above.__class__ is not ast.If or above.test is not condition[0]:
        return False
    calls = (inner.func for statement in above.body for inner in walk(statement) if inner.__class__ is ast.Call)
    return any(file.names.resolve(func, condition) == _ATTENTION for func in calls)


def is_plain(file: File, node: Node) -> bool:
    """Whether a call of this name means functions of the file that call torch, builtins and methods of tensors alone."""
    functions = file.names.scopes.functions.get(node.id, ()) if node.__class__ is ast.Name else ()
    return bool(functions) and all(_is_plain(file, link) for link in functions)


def _is_plain(file: File, function: Link) -> bool:
    nodes = [inner for statement in function[0].body for inner in walk(statement)]
    if any(isinstance(inner, (ast.Import, ast.ImportFrom)) for inner in nodes):
        return False
    calls = [inner for inner in nodes if inner.__class__ is ast.Call]
    own = {inner.arg for inner in walk(function[0].args) if inner.__class__ is ast.arg} - {"self", "cls", "ctx"}
    own |= {inner.id for inner in nodes if inner.__class__ is ast.Name and inner.ctx.__class__ is ast.Store}
    return bool(calls) and all(_of_torch(file, call.func, own, function) for call in calls)


def _of_torch(file: File, func: Node, own: set[str], link: Link) -> bool:
    """`own`: the names that the function binds itself."""
    if func.__class__ is ast.Name and func.id in _BUILTINS and not file.names.bound(func.id):
        return True
    if func.__class__ is not ast.Attribute:
        return False
    method = func.attr
    first: Node = func.value
    while first.__class__ in (ast.Attribute, ast.Subscript, ast.Call):
        if first.__class__ is ast.Call:  # `torch.arange(n)[:, None].repeat(1, d)`: of what torch gives
            func = first.func
        first = first.func if first.__class__ is ast.Call else first.value
    if first.__class__ is not ast.Name:
        return False
    if first.id in file.names.imports:
        full = file.names.resolve(func, link) or ""
        plain = full.startswith("torch.") and not full.startswith(_BUILT)
        return plain and (func.attr == method or method not in _METHODS)
    return first.id in own and method not in _METHODS
