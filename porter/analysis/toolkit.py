"""Says which statements are about the CUDA toolkit, or run only where TensorRT or a CUDA kernel does. They mean CUDA itself, and not the accelerator
in use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.behind_cuda import is_behind
from porter.python.blocks import above, once_for_file
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.toolkit_words import is_about_toolkit
from porter.python.uses import packages_of
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.analysis.file import File
    from porter.python.units import Unit

_DEFINITIONS = (*FUNCTIONS[:2], ast.ClassDef)
_PACKAGES = hints("never-on-an-npu-host")
_NAMES = tuple(sorted(name.encode() for name in _PACKAGES))


def why_left(file: File, unit: Unit, leads: bool) -> str:
    """Why nothing is edited in a statement: no road `leads` from the file to torch, an import above it fails or one in all programs that
    use the file, or no NPU enters the function. "" where it may be edited."""
    if not leads:
        return "astray"
    if file.path in file.facts.roads.lost:
        return "lost-with"
    if _is_lost(file, unit) or _runs_on_gpu(file, unit):
        return "lost"
    return "behind" if is_behind(file, file.source.line(unit.start)) else ""


def _link(file: File, unit: Unit) -> Link | None:
    """The link of a statement; of what it computes, where it does nothing else."""
    statement = unit.statement
    return file.scene.link_to(statement.value if statement.__class__ is ast.Expr else statement)


def _is_lost(file: File, unit: Unit) -> bool:
    """Whether a statement stands behind an import that no NPU host can make, in the same block or in one around: it never runs
    there, so that nothing is gained by porting it. What an `if` imports does not count behind it, nor what a `try` does, unless each
    way through it imports the package or raises."""
    if not _names_one(file):
        return False
    link = _link(file, unit)
    while link is not None and link[1] is not None:
        if above(link[1][0], link[0], _imports, _imports):
            return True
        link = link[1]
    return False


def _runs_on_gpu(file: File, unit: Unit) -> bool:
    """Whether a statement is in a function that calls such a package in any case, or in a class that does when an object is
    made: then it does not matter that a `try` of the module imports the package."""
    names = _tried(file) if _names_one(file) else frozenset()
    if not names:
        return False
    for node, _ in ancestors(_link(file, unit)):
        if isinstance(node, FUNCTIONS[:2]) and _calls(node, names):
            return True
        if node.__class__ is ast.ClassDef:
            methods = {part.name: part for part in node.body if isinstance(part, FUNCTIONS[:2])}
            made = methods.get("__init__")
            if made and (
                _calls(made, names) or any(_calls(methods[m], names) for m in _own_calls(made) & methods.keys())
            ):
                return True
    return False


@once_for_file
def _tried(file: File) -> frozenset[str]:
    """The names that a `try` of the module gives to such packages."""
    body: list[Node] = file.tree.body
    tried = (part for node in body if node.__class__ is ast.Try for part in node.body if _imports(part))
    return frozenset(alias.asname or alias.name.partition(".")[0] for part in tried for alias in part.names)


def _calls(function: ast.FunctionDef | ast.AsyncFunctionDef, names: frozenset[str]) -> bool:
    """Whether a statement that always runs says `name.x` of such a name."""
    return any(
        node.__class__ is ast.Attribute and node.value.__class__ is ast.Name and node.value.id in names
        for node in _always(function)
    )


def _own_calls(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The methods that a method always calls on its own object."""
    calls = (node.func for node in _always(function) if node.__class__ is ast.Call)
    owned = (call for call in calls if call.__class__ is ast.Attribute and call.value.__class__ is ast.Name)
    return {call.attr for call in owned if call.value.id == "self"}


def _always(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Node]:
    """The nodes of the plain statements of a function, up to one that may return. What may raise counts as nothing: without the
    package, a function that raises is as lost as one that calls it."""
    for statement in function.body:
        if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)):
            yield from walk(statement)
        elif isinstance(statement, (ast.Return, ast.Raise)):
            return
        elif not isinstance(statement, _DEFINITIONS) and any(isinstance(n, ast.Return) for n in walk(statement)):
            return


@once_for_file
def _names_one(file: File) -> bool:
    return any(name in file.source.utf8 for name in _NAMES)


def _imports(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Try):
        ways = [statement.body, *(handler.body for handler in statement.handlers)]
        return any(map(_imports, statement.body)) and all(any(map(_stops, way)) for way in ways)
    return isinstance(statement, (ast.Import, ast.ImportFrom)) and not _PACKAGES.isdisjoint(packages_of(statement))


def _stops(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) or _imports(statement)


def builds_cuda(file: File, unit: Unit) -> bool:
    """Whether a statement is part of a build script, or mentions the toolkit; for the header of an `if`, its block counts."""
    if file.path.rpartition("/")[2] == "setup.py":
        return True
    is_header = unit.statement.__class__ is ast.If and not unit.whole
    end = file.source.span(unit.statement.body[-1])[1] if is_header else unit.end
    return is_about_toolkit(file, unit.start, end)
