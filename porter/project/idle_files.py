"""Files that nothing runs: no other file imports them, and they are no programs.

Whether a file runs is certain only where others of its folder do: a program of the project imports from there. A file whose name
stands in a text or in settings may be loaded by it, and so may anything where modules are loaded by names made at run time.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import cached_property

from porter.files.kinds import PYTHON, kind_of
from porter.files.paths import SIDE, is_test
from porter.project.imports import imports
from porter.python.trees import parse

Text = Callable[[str], bytes]

# what tools run by its name: torch.hub, pytest, setuptools, servers of models
_ASKED_FOR = frozenset("conftest hubconf setup noxfile handler predict predictor inference model app main conf".split())
_PROSE = (".md", ".rst", ".txt", ".sh")  # there a plain word is no file
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BINDS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, *_DEFINES)


class IdleFiles:
    """`sources`: the Python files of a project; `others`: what else may name one."""

    def __init__(self, sources: Sequence[str], others: Sequence[str], text: Text) -> None:
        self._sources, self._others, self._text = sources, others, text

    def has(self, path: str) -> bool:
        stem = path.rpartition("/")[2].removesuffix(".py")
        if stem in _ASKED_FOR or stem.startswith("__") or is_test(path) or SIDE.search(path):
            return False
        folder = path.rpartition("/")[0]
        return (
            folder in self._folders
            and stem not in self._imported
            and self._only_defines(path)
            and not self._named(stem)
        )

    @cached_property
    def _words(self) -> list[tuple[str, set[str]]]:
        """Each file, with all words of what it imports."""
        return [(path, _words_of(self._text(path))) for path in self._sources]

    @cached_property
    def _imported(self) -> set[str]:
        return set().union(*(words for _, words in self._words))

    @cached_property
    def _folders(self) -> set[str]:
        """Folders of files that a program imports."""
        used: set[str] = set()
        for path, words in self._words:
            if not is_test(path) and not SIDE.search(path) and b"__main__" in self._text(path):
                used |= words
        return {folder for path in self._sources for folder, stem in [_parts(path)] if stem in used}

    def _only_defines(self, path: str) -> bool:
        """Whether running it does nothing but bind names, and no registry is told of them."""
        text = self._text(path)
        tree = parse(text) if b"__main__" not in text else None
        if tree is None or not any(isinstance(node, _DEFINES) for node in tree.body):
            return False
        return all(
            isinstance(node, _BINDS) and not getattr(node, "decorator_list", None)
            or isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            for node in tree.body
        )  # fmt: skip

    def _named(self, stem: str) -> bool:
        """Whether a string of a program names it, a text as a file or as a module, or settings in any way."""
        word = re.escape(stem.encode())
        quoted = re.compile(rb"[\"'](?:[\w./-]*[./]%s\b|%s[.:]\w)" % (word, word))
        spelled = re.compile(rb"[./]%s\b|\b%s\.py\b|\b%s[.:/]\w" % (word, word, word))
        whole = re.compile(rb"\b%s\b" % word)
        plain = stem.encode()

        def names(path: str) -> bool:
            text = self._text(path)
            if plain not in text:
                return False
            if kind_of(path) == PYTHON:
                return quoted.search(text) is not None
            return (spelled if path.endswith(_PROSE) else whole).search(text) is not None

        return any(map(names, self._sources)) or any(map(names, self._others))


def _parts(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".py")
    return folder, folder.rpartition("/")[2] if stem == "__init__" else stem


def _words_of(text: bytes) -> set[str]:
    words: set[str] = set()
    for statement in imports(text):
        words.update(statement.module.split("."))
        for name, _ in statement.names:
            words.update(name.split("."))
    return words
