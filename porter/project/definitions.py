"""Finds the file that defines an imported name.

Names are followed through packages that import them from elsewhere, and into files that the run does not analyse.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from porter.files.errors import FilesError
from porter.files.read import read
from porter.files.witness import is_file, real
from porter.python.index import FUNCTIONS, Node
from porter.python.kept import Remember, anew, rows_of
from porter.python.trees import parse
from porter.python.walks import statements, walk
from porter.regex import lazy

_DEEPEST = 20  # packages through which a name is followed
_LARGEST = 2_000_000  # a module with more bytes is data
# statements in the bytes of a module: an import from, an assignment in the first column, an import
_FROM = lazy(rb"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import\b[ \t]*(\((?:#[^\n]*|[^)#])*|(?:\\\r?\n|[^\n])*)", re.M)
_SET = lazy(rb"^([A-Za-z_]\w*)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
_IMPORT = lazy(rb"^[ \t]*import[ \t]+([^\n#]+)", re.MULTILINE)


class Definition(NamedTuple):
    path: str
    name: str
    kind: str  # "value", "function", "class"; "module" where the name itself is one


Answer: TypeAlias = "tuple[Definition, tuple[str, ...]] | None"
# (file of a module, tail): the tail is the rest of the full name
_Module: TypeAlias = "tuple[str, tuple[str, ...]] | None"
# by name: (kind, "") of a definition, ("", full name) of an import; and the modules of star imports
Table = tuple[dict[str, tuple[str, str]], list[str]]


class Definitions:
    def __init__(self, root: Path, files: Iterable[str], kept: Remember = anew):
        """`files`: all of the project that are known, relative to its root; others are looked for on disk; `kept`: what
        single files of Python said in an earlier run."""
        self.root, self.files, self._kept = root, frozenset(files), kept
        self._modules: dict[tuple[str, str], _Module] = {}
        self._imports: dict[tuple[str, str], str | None] = {}
        self._tables: dict[str, Table] = {}
        self._answers: dict[tuple[str, str], Answer] = {}

    def find(self, full: str, user: str, depth: int = 0) -> Answer:
        """(definition, tail) of a full name that the file `user` imports. The tail is the attributes behind the definition."""
        if (full, user) not in self._answers:
            self._answers[full, user] = None  # ends the recursion if packages import each other
            self._answers[full, user] = self._find(full, user, depth)
        return self._answers[full, user]

    def _find(self, full: str, user: str, depth: int) -> Answer:
        module = self.module(full, user)
        if module is None or depth > _DEEPEST:
            return None
        path, tail = module
        if not tail:
            return Definition(path, "", "module"), ()
        kind, imported = self._table(path)[0].get(tail[0], ("", ""))
        if imported:
            return self.find(".".join((imported, *tail[1:])), path, depth + 1)
        return (Definition(path, tail[0], kind), tail[1:]) if kind else self.behind_stars(".".join(tail), path, depth)

    def behind_stars(self, name: str, user: str, depth: int = 0) -> Answer:
        """The same for a name that a file gets from a star import."""
        ways = (self.find(joined(star, name), user, depth + 1) for star in self._table(user)[1])
        return next(filter(None, ways), None)

    def module(self, full: str, user: str) -> _Module:
        """(file, tail) of the module that a full name begins with."""
        key = (full, user.rpartition("/")[0])
        if key not in self._modules:
            module = self._module(full, user, self._exists)
            self._modules[key] = module and (self._really(module[0]), module[1])
        return self._modules[key]

    def _really(self, path: str) -> str:
        """The path without symbolic links; the path itself if a link leads out of the project."""
        if path in self.files:
            return path
        inside = os.path.relpath(real(self.root / path), real(self.root)).replace(os.sep, "/")
        return path if inside.startswith("../") else inside

    def _module(
        self, full: str, user: str, exists: Callable[[str], bool], beginnings: frozenset[str] | None = None
    ) -> _Module:
        """`beginnings`: of the paths that exist, if all are known."""
        bare = full.lstrip(".")
        level, words = len(full) - len(bare), tuple(filter(None, bare.split(".")))
        folder = user.split("/")[:-1]
        if level:
            return self._below(folder[: max(0, len(folder) - level + 1)], words, exists, 0)
        for above in range(len(folder), -1, -1):
            if beginnings is not None and "/".join((*folder[:above], *words[:1])) not in beginnings:
                continue
            if module := self._below(folder[:above], words, exists):
                return module
        tops = self._folders.get(words[0], ()) if words else ()
        places = [place for top in tops if (place := self._below(top.split("/"), words, exists))]
        return places[0] if len(places) == 1 else None  # several answers are no answer

    @staticmethod
    def _below(folder: list[str], words: tuple[str, ...], exists: Callable[[str], bool], least: int = 1) -> _Module:
        """The module or package in a folder that takes most of `words`, but at least `least` of them."""
        for size in range(len(words), least - 1, -1):
            parts = [*folder, *words[:size]]
            for path in (["/".join(parts) + ".py"] if size else []) + ["/".join([*parts, "__init__.py"])]:
                if exists(path):
                    return path, words[size:]
        return None

    def _exists(self, path: str) -> bool:
        return path in self.files or is_file(self.root / path)

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        """The folders that hold a module or package of a name: `src` for `src/tool`."""
        folders: dict[str, list[str]] = {}
        for path in sorted(self.files):
            if path.endswith(".py"):
                *folder, name = path.removesuffix("/__init__.py").removesuffix(".py").split("/")
                if folder:
                    folders.setdefault(name, []).append("/".join(folder))
        return folders

    def _table(self, path: str) -> Table:
        if path not in self._tables:
            tree = parse(data := self._bytes(path))
            if tree is None:
                self._tables[path] = {name.decode(): ("value", "") for name in _SET.findall(data)}, []
            else:
                self._tables[path] = _names(tree)
        return self._tables[path]

    def kind(self, path: str, name: str) -> str:
        """What a name is that a module defines: "value", "function", "class"; else ""."""
        return self._table(path)[0].get(name, ("", ""))[0]

    def called(self, definition: Definition) -> Node:
        """The function that a call of a function or a class runs; None where a class has no `__init__` of its own."""
        tree = parse(self._bytes(definition.path))
        named = (n for n in statements(tree) if getattr(n, "name", "") == definition.name) if tree else ()
        function: Node = next((n for n in named if isinstance(n, (*FUNCTIONS[:2], ast.ClassDef))), None)
        if isinstance(function, ast.ClassDef):
            function = next((n for n in function.body if getattr(n, "name", "") == "__init__"), None)
        return function if isinstance(function, FUNCTIONS[:2]) else None

    def _bytes(self, path: str) -> bytes:
        try:
            return read(self.root / path, path, limit=_LARGEST)
        except FilesError:
            return b""

    def imported(self, path: str, data: bytes) -> set[str]:
        """The files of the project that a file imports."""
        names = rows_of(data, "imported", (), lambda: tuple(sorted(imported_names(data))), self._kept)
        wanted = (full for full in names if full[:1] == "." or full.partition(".")[0] in self._words)
        return {file for full in wanted if (file := self._imported(full, path))} - {path}

    def _imported(self, full: str, path: str) -> str | None:
        """The file of a module that a file imports. The answer is the same for all files of a folder."""
        key = (full, path.rpartition("/")[0])
        if key not in self._imports:
            module = self._module(full, path, self.files.__contains__, self._beginnings)
            self._imports[key] = module and module[0]
        return self._imports[key]

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """The modules of the project, as paths without a suffix, and the folders around them."""
        found: set[str] = set()
        for path in self.files:
            if path.endswith(".py"):
                path = path[:-3]
                while path and path not in found:
                    found.add(path)
                    path = path.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def _words(self) -> frozenset[str]:
        """The words with which an import of a module of the project may begin."""
        return frozenset(word for path in self.files if path.endswith(".py") for word in path[:-3].split("/"))


def imported_names(data: bytes) -> set[str]:
    """The full names in all imports of a text, found without parsing: `x.y` and `x` for `from x import y`."""
    imported = set()
    for base, names in _of_lines(_FROM, b"from", data):
        module = base.decode("utf-8", "replace")
        imported.add(module)
        imported.update(
            joined(module, name) for name in re.findall(r"(?:^|[,(])\s*(\w+)", names.decode("utf-8", "replace"))
        )
    for (names,) in _of_lines(_IMPORT, b"import", data):
        imported.update(name.split()[0] for name in names.decode("utf-8", "replace").split(",") if name.strip())
    return imported


def _of_lines(pattern: re.Pattern[bytes], word: bytes, data: bytes) -> Iterator[tuple[bytes, ...]]:
    """The groups of all matches of a pattern for lines that begin with a word. To look for the word first takes a third of the
    time that the pattern takes, which tries every line."""
    at = data.find(word)
    while at >= 0:
        behind, start = at + len(word), data.rfind(b"\n", 0, at) + 1
        if not data[start:at].strip(b" \t") and (match := pattern.match(data, start)):
            yield match.groups()
            behind = match.end()
        at = data.find(word, behind)


def joined(base: str, name: str) -> str:
    """A module and a name as one full name. `base` may be only dots."""
    return base + name if base[-1:] == "." else f"{base}.{name}"


def _names(tree: ast.Module) -> Table:
    names: dict[str, tuple[str, str]] = {}
    stars: list[str] = []
    todo = [*reversed(tree.body)]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names[node.name] = ("function", "")
        elif isinstance(node, ast.ClassDef):
            names[node.name] = ("class", "")
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                names.update((n.id, ("value", "")) for n in walk(target) if isinstance(n, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    stars.append(base)
                else:
                    names.setdefault(alias.asname or alias.name, ("", joined(base, alias.name)))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                names.setdefault(alias.asname or first, ("", alias.name if alias.asname else first))
        elif isinstance(node, ast.stmt):  # `if` and `try` around definitions
            inner = (getattr(node, field, []) for field in ("finalbody", "orelse", "handlers", "body"))
            todo += [statement for block in inner for statement in reversed(block)]
        elif isinstance(node, ast.ExceptHandler):
            todo += reversed(node.body)
    return names, stars
