"""Says whether a file uses only those parts of a package that need no device: names, base classes, decorators."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from porter.python.walks import walk
from porter.rulebook.table import Package, package_row

_CHECKS = ("isinstance", "issubclass")  # their second argument is only a name


def only_on_host(tree: ast.Module, package: str, rows: Mapping[str, Package], *, hands_on: bool = False) -> bool | None:
    """Whether a file uses a package only on the host: names that its row lists as `on_host`, and names in decorators,
    annotations and `isinstance`. None where the file uses nothing of it.

    `hands_on`: other files import from this one, so that its imports count as used if the file itself uses none of them.
    """
    row, nodes = rows[package], list(walk(tree))
    bound, starred = _bound(nodes, package, rows)
    if starred:
        return False
    names = [node for node in nodes if isinstance(node, ast.Name) and node.id in bound]
    used = list(_used(nodes, names, bound))
    if not names and hands_on:
        used = list(bound.values())
    used = [full for full in used if _is_of(package, full, rows)]
    if not used and not names:
        return None
    return all(_below(full, row.on_host or ()) for full in used) and not _moved(nodes, row.methods)


def _bound(nodes: Iterable[ast.AST], package: str, rows: Mapping[str, Package]) -> tuple[dict[str, str], bool]:
    """The full name of each name that comes from a package, and whether an `import *` hides some."""
    names: dict[str, str] = {}
    top = package.partition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == top:
                    names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if node.module.partition(".")[0] == top:
                for alias in node.names:
                    if alias.name == "*" and _is_of(package, node.module, rows):
                        return {}, True
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names, False


def _used(nodes: Iterable[ast.AST], names: Iterable[ast.Name], bound: Mapping[str, str]) -> Iterator[str]:
    """The full name of each use that is not in a decorator, an annotation or `isinstance`."""
    bare = {id(node) for node in _bare(nodes)}
    above = {id(node.value): node for node in nodes if isinstance(node, ast.Attribute)}
    for name in names:
        full, chain = bound[name.id], [id(name)]
        while (outer := above.get(chain[-1])) is not None:
            full = f"{full}.{outer.attr}"
            chain.append(id(outer))
        if bare.isdisjoint(chain):
            yield full


def _bare(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes in decorators, annotations and `isinstance`."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns:
            yield from walk(node.returns)
        elif isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation:
            yield from walk(node.annotation)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _CHECKS:
            for kinds in node.args[1:2]:
                yield from walk(kinds)


def _moved(nodes: Iterable[ast.AST], methods: Iterable[str]) -> bool:
    """Whether the file calls one of these methods, which need a device, on any object."""
    asked = {*methods}
    return bool(asked) and any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in asked
        for node in nodes
    )


def _is_of(package: str, full: str, rows: Mapping[str, Package]) -> bool:
    """Whether a full name belongs to the row of this package, and not to the row of a part of it."""
    known = package_row(full, rows)
    return known is not None and known[0] == package


def _below(full: str, names: Iterable[str]) -> bool:
    return f"{full}.".startswith(tuple(f"{name}." for name in names))
