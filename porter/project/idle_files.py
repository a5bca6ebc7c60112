"""Finds files that nothing runs: they are no programs, and nothing that runs imports them.

That is certain only in a folder from which a program of the project imports other files. A file whose name stands in a text or in
settings may be loaded by that name, so it does not count as idle. `unused.py` asks after the files are analysed: it is no fact.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from porter.files.kinds import PYTHON, kind_of
from porter.files.paths import SIDE, bytes_of, is_test
from porter.project.imports import Import, Project
from porter.python.graphs import reached
from porter.python.trees import parse
from porter.regex import lazy

Text = Callable[[str], bytes]

# names of files that tools run: torch.hub, pytest, setuptools, servers of models
_BY_TOOLS = frozenset("conftest hubconf setup noxfile handler predict predictor inference model app main conf".split())
_LISTS = frozenset({"setup.py", "setup.cfg", "pyproject.toml"})
_DIRECTORY = lazy(rb"package[_-]dir")
_PROSE = (".md", ".rst", ".txt", ".sh")  # in such a text a plain word does not name a file
_COMMENTED_IMPORT = lazy(rb"(?m)#[ \t]*(?:from|import)[ \t]+(\w+(?:\.\w+)+)[ \t]*(?:$|import\b|as\b)")
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BINDS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass, *_DEFINES)
_BLOCKS = ("body", "handlers", "orelse", "finalbody")
_CHOOSES = (ast.If, ast.Try, ast.ExceptHandler)


class IdleFiles:
    """The idle files of a project. `sources`: its Python files. `others`: other files that may name one. `may_say`: whether a
    file may contain a word."""

    def __init__(
        self,
        sources: Sequence[str],
        others: Sequence[str],
        text: Text,
        project: Project,
        may_say: Callable[[str, bytes], bool],
    ) -> None:
        self._sources, self._others, self._text = sources, others, text
        self._project, self._read, self._may_say = project, project.read, may_say

    def has(self, path: str) -> bool:
        """Whether nothing runs this file."""
        if path in self._live or not self._is_among_used(path):
            return False
        leading = self.leading(path)  # what one of these says about another runs as little
        return not any(self._named(stem, leading) for stem in sorted({*map(stem_of, leading)} - {"__init__"}))

    def leading(self, path: str) -> set[str]:
        """The file, and all that import it, over any number of files."""
        return reached([path], lambda file: self._importers.get(file, ()))

    @cached_property
    def _live(self) -> set[str]:
        """Programs, tests, files that tools run, and all files that these import."""
        live = self._reached(path for path in self._sources if self._is_program(path))
        # these have to be parsed, but for those that a program imports
        return live | self._reached(path for path in self._sources if path not in live and self._does_more(path))

    def _reached(self, paths: Iterable[str]) -> set[str]:
        return reached([*paths], lambda file: self._imports.get(file, ()))

    @cached_property
    def _imports(self) -> dict[str, set[str]]:
        return {path: {*self._imported_by(path)} - {path} for path in self._sources}

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path, files in self._imports.items():
            for file in files:
                found.setdefault(file, []).append(path)
        return found

    def _is_program(self, path: str) -> bool:
        """Whether a file says that it may be started by itself."""
        stem = stem_of(path)
        by_tools = stem in _BY_TOOLS or is_test(path) or SIDE.search(path) is not None
        return by_tools or stem == "__main__" or b"__main__" in self._text(path)

    def _does_more(self, path: str) -> bool:
        """Whether any other file may be one. A module of a package without `__main__` runs only if it is imported."""
        return not stem_of(path).startswith("__") and not self._is_packaged(path) and not self._only_defines(path)

    def _is_packaged(self, path: str) -> bool:
        return f"{path.rpartition('/')[0]}/__init__.py" in self._set

    @cached_property
    def _set(self) -> frozenset[str]:
        return frozenset(self._sources)

    def _imported_by(self, path: str) -> Iterator[str]:
        for file in (*self._project.files(path), *self._unresolved(path)):
            yield file
            folder = file
            while "/" in folder:  # the __init__.py of each package around runs first
                folder = folder.rpartition("/")[0]
                if f"{folder}/__init__.py" in self._set:
                    yield f"{folder}/__init__.py"

    def _unresolved(self, path: str) -> Iterator[str]:
        """For an import that does not certainly lead to a file of the project: all files with a name in it. `from skimage.thin
        import f` leads to none where nothing of the project is called skimage."""
        for statement in self._read(path):
            first = statement.module.partition(".")[0]
            if (not first or first in self._names or self._renames) and not self._project.named(path, statement.module):
                for word in {*statement.module.split("."), *(name for name, _ in statement.names)}:
                    yield from self._by_stem.get(word, ())

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(word.removesuffix(".py") for path in self._sources for word in path.split("/"))

    @cached_property
    def _renames(self) -> bool:
        """Whether a package may be imported by another name than its folder has."""
        lists = (path for path in (*self._sources, *self._others) if path.rpartition("/")[2] in _LISTS)
        return any(_DIRECTORY.search(self._text(path)) for path in lists)

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._sources:
            found.setdefault(_parts(path)[1], []).append(path)
        return found

    def _is_among_used(self, path: str) -> bool:
        """Whether a program of the project imports other files of the same folder or of one above it. The root counts for files in
        it and in packages. Else the folder may hold a library for people outside of the project."""
        words = path.split("/")
        is_of_root = len(words) == 1 or f"{words[0]}/__init__.py" in self._set
        above = ["/".join(words[:end]) for end in range(len(words) - 1, 0, -1)] + [""] * is_of_root
        return not self._folders.isdisjoint(above)

    @cached_property
    def _folders(self) -> set[str]:
        """The folders of files that a program imports, or that somebody has stopped importing: the import is a comment."""
        used: set[str] = set()
        left = {path.rpartition("/")[0] for path in self._sources if path in self._commented}
        for path in self._sources:
            if not is_test(path) and not SIDE.search(path) and b"__main__" in self._text(path):
                used |= _words_of(self._read(path))
        return left | {folder for path in self._sources for folder, stem in [_parts(path)] if stem in used}

    @cached_property
    def _commented(self) -> set[str]:
        """The files that imports in comments name: `# from modules.bn import Norm`."""
        return {
            match[1].decode().replace(".", "/") + ".py"
            for path in self._sources
            if b"#" in (text := self._text(path))
            for match in _COMMENTED_IMPORT.finditer(text)
            if not text[text.rfind(b"\n", 0, match.start()) + 1 : match.start()].strip()
        }

    def _only_defines(self, path: str) -> bool:
        """Whether running a file only binds names. A decorator may register a name somewhere, so it must have none."""
        text = self._text(path)
        tree = parse(text) if b"__main__" not in text else None
        if tree is None or not any(isinstance(node, _DEFINES) for node in tree.body):
            return False
        return all(map(_only_binds, tree.body))

    def _named(self, stem: str, leading: set[str]) -> bool:
        """Whether a file that is none of `leading` names this one: Python in a string, a text as a file or module, settings as
        a plain word."""
        plain = bytes_of(stem)
        word = re.escape(plain)
        quoted = re.compile(rb"[\"'](?:[\w./= -]*[./]%s\b|%s[.:]\w)" % (word, word))
        # letters come first: a text is searched for these in a tenth of the time
        spelled = re.compile(rb"%s(?:(?<=[./]%s)\b|(?<=\b%s)(?:\.py\b|[.:/]\w))" % (word, word, word))
        whole = re.compile(rb"%s(?<=\b%s)\b" % (word, word))
        # other names in a setup.py are built into the package: nobody runs these files for that
        started = re.compile(rb"%s(?<=\b%s)(?:\.py\b|:\w)" % (word, word))

        def names(path: str) -> bool:
            if path in leading or not self._may_say(path, plain):
                return False
            text = self._text(path)
            if kind_of(path) == PYTHON:
                return (started if stem_of(path) == "setup" else quoted).search(text) is not None
            return (spelled if path.endswith(_PROSE) else whole).search(text) is not None

        return any(map(names, self._sources)) or any(map(names, self._others))


def _only_binds(node: ast.AST) -> bool:
    """Whether a statement only binds names, whichever way it takes: one `try` may import a package, another do without."""
    if isinstance(node, _CHOOSES):
        return all(_only_binds(inner) for name in _BLOCKS for inner in getattr(node, name, ()))
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, _BINDS) and not getattr(node, "decorator_list", None)


def stem_of(path: str) -> str:
    """The name of a file without its folder and `.py`."""
    return path.rpartition("/")[2].removesuffix(".py")


def _parts(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".py")
    return folder, folder.rpartition("/")[2] if stem == "__init__" else stem


def _words_of(statements: Iterable[Import]) -> set[str]:
    words: set[str] = set()
    for statement in statements:
        words.update(statement.module.split("."))
        for name, _ in statement.names:
            words.update(name.split("."))
    return words
