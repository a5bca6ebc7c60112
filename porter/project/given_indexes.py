"""Finds functions of a project that are given `torch.cuda.current_device()`, and says which of their parameters are devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial

from porter.python.evidence import call_name
from porter.python.handed_index import is_device_name
from porter.python.index import FUNCTIONS, Node
from porter.python.kept import Remember, anew, rows_of
from porter.python.trees import Parse
from porter.python.walks import walk
from porter.regex import lazy

_ASKED = b"cuda.current_device()"
_HANDED = lazy(rb"[(,=]\s*[\w.]*\bcuda\.current_device\(\)")  # as an argument, or held by a name
_TORCHS = frozenset({"to", "cuda", "device"})
Row = tuple[str, str, str, int]


def given_indexes(texts: Mapping[str, bytes], parse: Parse, kept: Remember = anew) -> tuple[Row, ...]:
    """(path, function or class, parameter, position), -1 where it is given by name alone. A function without such a parameter
    has one row, with ""."""
    asking = (data for data in texts.values() if _ASKED in data and _HANDED.search(data))
    wanted = {
        name for data in asking for name in rows_of(data, "given indexes", (), partial(_given, data, parse), kept)
    }
    names = {f"{word} {name}(".encode(): name for name in wanted for word in ("def", "class")}
    names |= {f"class {name}:".encode(): name for name in wanted}
    found: set[Row] = set()
    for path, data in texts.items() if names else ():
        if here := {name for head, name in names.items() if head in data}:
            tree = parse(data)
            found.update((path, *row) for row in (_taking(tree, here) if tree is not None else ()))
    return tuple(sorted(found))


def _given(data: bytes, parse: Parse) -> tuple[str, ...]:
    """The names of what is called with the index, or with a name that holds it."""
    tree = parse(data)
    nodes = [*walk(tree)] if tree is not None else []
    held = {getattr(n.targets[0], "id", "") for n in nodes if n.__class__ is ast.Assign and _is_index(n.value)} - {""}
    names = set()
    for call in nodes:
        if call.__class__ is not ast.Call:
            continue
        values = [*call.args, *(k.value for k in call.keywords)]
        if any(_is_index(v) or getattr(v, "id", "") in held for v in values):
            names.add(call_name(call.func))
    return tuple(sorted(names - _TORCHS))


def _is_index(node: Node) -> bool:
    return node.__class__ is ast.Call and call_name(node.func) == "current_device"


def _taking(tree: ast.Module, names: set[str]) -> Iterator[tuple[str, str, int]]:
    for node in tree.body:
        if not isinstance(node, (*FUNCTIONS[:2], ast.ClassDef)) or node.name not in names:
            continue
        function: Node = node
        first = 0
        if isinstance(node, ast.ClassDef):
            inits = [n for n in node.body if isinstance(n, FUNCTIONS[:2]) and n.name == "__init__"]
            function, first = (inits[0], 1) if inits else (node, 0)
        if function.__class__ is ast.ClassDef:
            continue
        a = function.args
        placed = [(p, i - first) for i, p in enumerate((*a.posonlyargs, *a.args))][first:]
        rows = [(p, i) for p, i in (*placed, *((p, -1) for p in a.kwonlyargs)) if _is_device(p, function)]
        yield from ((node.name, p.arg, i) for p, i in rows)
        if not rows:
            yield node.name, "", -1


def _is_device(parameter: ast.arg, function: Node) -> bool:
    """Whether a parameter is called so, is annotated so, or goes where a device goes."""
    if is_device_name(parameter.arg):
        return True
    if parameter.annotation is not None and ast.unparse(parameter.annotation).endswith("device"):
        return True
    return any(_moves_to(node, parameter.arg) for node in walk(function))


def _moves_to(node: Node, name: str) -> bool:
    if node.__class__ is ast.keyword:
        return node.arg == "device" and getattr(node.value, "id", "") == name
    if node.__class__ is not ast.Call or call_name(node.func) != "to" or not node.args:
        return False
    return getattr(node.args[0], "id", "") == name
