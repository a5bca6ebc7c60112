"""Finds functions that only build what a module keeps: every call in the project is in an `__init__`, or in such a function.

They run once for a module, and on the host: a module is moved after it is made.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from porter.files.kinds import NOTEBOOK, PYTHON, kind_of
from porter.files.paths import is_test
from porter.project.meant_names import whole_word
from porter.project.passed_values import Texts
from porter.python.index import Node, on_lines
from porter.python.walks import walk
from porter.regex import lazy

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEPEST, _MOST = 4, 20  # functions in a row, files that name one
_SLOW, _COMPLEX = "PRT702", "PRT309"
CODES = frozenset({_SLOW, _COMPLEX})
# a function with complex numbers that gives none of them away
_REAL = lazy(r"\.real\b|\breal\(|view_as_real|\.abs\(\)")
_DEVICE = lazy(r"cuda|device|(?<!i)npu")


class _Scope(NamedTuple):
    """A top-level function, or a method of a top-level class."""

    function: Node
    owner: Node | None


class BuiltOnce:
    """Such functions of a project. `tree`: the tree of a file, if it can be parsed."""

    def __init__(self, texts: Texts, tree: Callable[[str], ast.Module | None]) -> None:
        self._texts, self._tree = texts, tree
        self._known: dict[str, bool] = {}
        self._scopes: tuple[str, list[_Scope]] = ("", [])  # of the file that was asked last, in order
        self._settled: dict[tuple[str, str, int], bool] = {}

    def at(self, code: str, path: str, line: int) -> str:
        """The name of the function around a line, if what a code speaks of is settled there; "" for none."""
        if self._scopes[0] != path:
            tree = None if is_test(path) else self._tree(path)
            self._scopes = path, [*_scopes(tree)] if tree else []
        scopes = self._scopes[1]
        index = bisect_right(scopes, line, key=lambda scope: scope.function.lineno) - 1
        if index < 0 or line > (scopes[index].function.end_lineno or 0):
            return ""
        function = scopes[index].function
        if function.name.startswith("__") or function.name == "forward":
            return ""
        key = code, path, function.lineno
        if key not in self._settled:
            text = ast.unparse(function)
            may_be = not _DEVICE.search(text) and (code != _COMPLEX or _REAL.search(text) is not None)
            self._settled[key] = may_be and self._builds(function.name, path, 0)
        return function.name if self._settled[key] else ""

    def _builds(self, name: str, home: str, depth: int) -> bool:
        if name not in self._known:
            self._known[name] = False  # of those that call each other
            self._known[name] = depth < _DEEPEST and self._is_one(name, home, depth)
        return self._known[name]

    def _is_one(self, name: str, home: str, depth: int) -> bool:
        word = whole_word(name.encode())
        files = enumerate(self._texts(name.encode(), home) or ())
        asked = [(number, path, text) for number, (path, text) in files if _may_say(path, text, name, word)]
        if any(number >= _MOST for number, _, _ in asked):
            return False
        callers: list[_Scope] = []
        for _, path, text in asked:
            tree = self._tree(path) if kind_of(path) == PYTHON else None
            if tree is None:
                return False
            lines = [number for number, line in enumerate(text.splitlines(), 1) if name.encode() in line]
            for user in _users(tree, name, lines):
                if user is None or not _may_build(user):
                    return False
                callers.append(user)
        return bool(callers) and all(self._is_builder(caller, home, depth) for caller in callers)

    def _is_builder(self, scope: _Scope, home: str, depth: int) -> bool:
        return scope.function.name == "__init__" or self._builds(scope.function.name, home, depth + 1)


def _may_say(path: str, text: bytes, name: str, word: re.Pattern[bytes]) -> bool:
    """Whether a file that is no test may call a function."""
    kind = kind_of(path)
    if is_test(path) or kind not in (PYTHON, NOTEBOOK) or name.encode() not in text:
        return False
    return kind == NOTEBOOK or word.search(text) is not None


def _may_build(scope: _Scope) -> bool:
    """Whether a function is the `__init__` of a module, or one that may run for such alone."""
    if scope.function.name == "__init__":
        return scope.owner is not None and _is_module(scope.owner)
    return not scope.function.name.startswith("__")


def _is_module(owner: Node) -> bool:
    """Whether a class is one of torch's modules: others may be made for each batch."""
    bases = (getattr(base, "attr", "") or getattr(base, "id", "") for base in owner.bases)
    return any("Module" in base for base in bases) or any(getattr(s, "name", "") == "forward" for s in owner.body)


def _scopes(tree: ast.Module) -> Iterator[_Scope]:
    for statement in tree.body:
        if isinstance(statement, _DEFINITIONS):
            yield _Scope(statement, None)
        elif isinstance(statement, ast.ClassDef):
            yield from (_Scope(node, statement) for node in statement.body if isinstance(node, _DEFINITIONS))


def _users(tree: ast.Module, name: str, lines: list[int]) -> Iterator[_Scope | None]:
    """The scopes that mention a name, but for those of that name; None for a place on import. `lines`: those with the name."""
    inside: set[ast.AST] = set()
    for scope in _scopes(tree):
        if not on_lines(scope.function, lines):
            continue
        mentions = [node for node in walk(scope.function) if _mentions(node, name)]
        inside.update(mentions)
        if mentions and scope.function.name != name:
            yield scope
    nodes = (node for statement in tree.body if on_lines(statement, lines) for node in walk(statement))
    if any(_mentions(node, name) and node not in inside for node in nodes):
        yield None


def _mentions(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name or isinstance(node, ast.Attribute) and node.attr == name
