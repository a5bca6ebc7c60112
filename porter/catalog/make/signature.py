"""Parameter names as Python source writes them: `("tensor", "*", "stream", "**kwargs")`."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def parameters(arguments: ast.arguments, bound: bool = False) -> tuple[str, ...]:
    """In order, `*`, `*args`, `/` and `**kwargs` included; `bound` leaves out `self` or `cls`."""
    names = [a.arg for a in arguments.posonlyargs]
    if names:
        names.append("/")
    names += [a.arg for a in arguments.args]
    if bound and names:
        del names[0]
    if arguments.vararg:
        names.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        names.append("*")
    names += [a.arg for a in arguments.kwonlyargs]
    if arguments.kwarg:
        names.append(f"**{arguments.kwarg.arg}")
    return tuple(names)


def class_parameters(node: ast.ClassDef) -> tuple[str, ...] | None:
    """What the class is called with: its `__new__` or `__init__`, or the fields of a dataclass."""
    for wanted in ("__init__", "__new__"):
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == wanted:
                return parameters(item.args, bound=True)
    if "dataclass" in base_names(node.decorator_list) or "NamedTuple" in base_names(node.bases):
        return tuple(f.target.id for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name))
    return None


def base_names(nodes: Iterable[ast.expr]) -> list[str]:
    """`dataclasses.dataclass(frozen=True)` -> `dataclass`; `prop.setter` -> `prop.setter`'s last part."""
    names = []
    for node in nodes:
        inner = node.func if isinstance(node, ast.Call) else node
        names.append(ast.unparse(inner).rpartition(".")[2])
    return names
