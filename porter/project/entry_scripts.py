"""Finds scripts that a person starts, and packages that the repository itself provides, without parsing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from porter.files.paths import folder_of
from porter.project.import_lines import Import
from porter.regex import lazy, rare

# `if __name__ == "__main__":`; a statement in the first column that does something
_GUARD = rare(rb"""^if[ \t]+__name__[ \t]*==[ \t]*["']__main__["']""", re.MULTILINE)
_ACTS = lazy(rb"\n(?:(?:for|while|with)\b[^\n]*:|if\b[^\n]*\bsys\.argv\b[^\n]*:|(?:\w+\.)*(?:main|train|run|fit)\()")
_ROOTS = ("src", "python", "lib")  # folders that are no part of a package's name


class Scripts:
    """Finds the scripts that start something with torch. `look` is called for every Python file, then `entries`."""

    def __init__(self, paths: Iterable[str]):
        self._inits = frozenset(path[: -len("__init__.py")] for path in paths if path.endswith("__init__.py"))
        self._guarded: dict[str, frozenset[str]] = {}  # path: the packages it imports
        self._acting: dict[str, frozenset[str]] = {}
        self._imported: set[str] = set()  # last words of modules that somebody imports, and names from them
        self._torch: set[str] = set()  # packages of the repository with a file that imports torch

    def look(self, path: str, text: bytes, imported: Iterable[Import]) -> None:
        first: set[str] = set()
        for statement in imported:
            first.update(module.partition(".")[0] for module in statement.modules)  # "" of a relative one
            self._imported.update(module.rpartition(".")[2] for module in statement.modules)
            self._imported.update(statement.names)
        if "torch" in first and (name := self._package(path)):
            self._torch.add(name)
        if path.rpartition("/")[2] == "setup.py":
            return
        if is_guarded(text):
            self._guarded[path] = frozenset(first)
        elif folder_of(path) not in self._inits and acts(text):
            self._acting[path] = frozenset(first)

    def entries(self) -> list[str]:
        started = {"torch"} | self._torch
        guarded = [path for path, first in self._guarded.items() if not started.isdisjoint(first)]
        acting = [path for path, first in self._acting.items() if not started.isdisjoint(first)]
        return guarded + [path for path in acting if _stem(path) not in self._imported]

    def _package(self, path: str) -> str | None:
        """The top-level package that a file of the repository lies in."""
        words = path.split("/")[:-1]
        for index in range(len(words)):
            if "/".join(words[: index + 1]) + "/" in self._inits:
                return words[index]
        return None


def is_guarded(text: bytes) -> bool:
    """`if __name__ == "__main__":`"""
    return b"__main__" in text and _GUARD.search(text) is not None


def acts(text: bytes) -> bool:
    """Whether a file does something as soon as it is read."""
    return _ACTS.search(b"\n" + text) is not None


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".py")


def own_folders(paths: Iterable[str], names: frozenset[str]) -> dict[str, frozenset[str]]:
    """For each package that the repository itself provides, the folders whose files find it: `third/` for `third/src/apex`."""
    folders: dict[str, set[str]] = {}
    for path in paths:
        if not path.endswith("/__init__.py"):
            continue
        words = path.split("/")[:-1]
        for n in range(max(len(words) - 2, 0), len(words)):  # the package, or a part of a namespace package
            if words[n] in names:
                above = words[:n]
                if above and above[-1] in _ROOTS:
                    above.pop()
                folders.setdefault(words[n], set()).add("/".join([*above, ""]))
                break
    return {name: frozenset(homes) for name, homes in folders.items()}


def own_modules(
    paths: Iterable[str], names: frozenset[str], imported: Callable[[str], Collection[str]]
) -> dict[str, frozenset[str]]:
    """For each module with the name of a package, the folders whose programs find it: those in which it lies without an
    __init__.py. A module that imports its own name means the package. `imported`: the first words of the imports of a file."""
    files = frozenset(paths)
    folders: dict[str, set[str]] = {}
    for path in files:
        folder, slash, name = path.rpartition("/")
        module = name.removesuffix(".py")
        if module != name and module in names and f"{folder}{slash}__init__.py" not in files:
            if module not in imported(path):
                folders.setdefault(module, set()).add(folder)
    return {name: frozenset(homes) for name, homes in folders.items()}
