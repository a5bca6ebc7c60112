"""Finds places of a value in files that a run does not edit: not named, excluded, reached by a link, or not parsed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

from porter.engine.launch import Options
from porter.files.errors import FilesError
from porter.files.kinds import NOTEBOOK, PYTHON, SHELL, kind_of
from porter.files.read import has_python_shebang, read
from porter.files.witness import ask, real
from porter.finding import FileResult, Site
from porter.project.definitions import Answer, Definition, Definitions, imported_names, joined
from porter.project.handing_files import Follow, handing
from porter.project.imports import lines_of_cells
from porter.python.graphs import reached
from porter.python.kept import Remember, anew
from porter.python.parameters import parameters, positional
from porter.regex import lazy, rare

_VALUE = rare(rb"\bcuda\b|nccl")  # only a file with one of these words has places
_LONGEST = 10  # lines of a statement, if its end is not known
_STRING = lazy(rb'\s*"(?:[^"\\]|\\.)*",?\s*$')  # a line of a cell, as most programs write notebooks
_LARGEST = 2_000_000  # a file with more bytes is data
Glance = Callable[[str, bytes], FileResult]  # gives the sites of a file
Excluded = Callable[[str], bool]


class Partners:
    """Finds places with the same value as places that the run edits, in files that it does not edit.

    Holders are explained in python/strings/holders.py. No other file can see one that begins with `local:`.
    """

    def __init__(
        self,
        root: Path,
        files: Sequence[str],
        named: frozenset[str],
        takes: Options,
        glance: Glance,
        follow: Follow,
        excluded: Excluded,
        kept: Remember = anew,
    ) -> None:
        """`files`: all of the project; `named`: those that the run is about; `glance` finds the sites of a file,
        `follow` its ties; `excluded` tells whether a run leaves a path out; `kept`: what single files said in an earlier run."""
        self.root, self.files, self.named = root, files, named
        self._takes, self._glance, self._follow, self._excluded = takes, glance, cache(follow), excluded
        self._definitions = Definitions(root, files, kept)
        self._nodes: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._imported: dict[str, set[str]] = {}
        self._looked: dict[str, FileResult | None] = {}  # kept, as no file changes during a run

    # ---- the meaning of a holder in a file

    def node(self, path: str, holder: str) -> tuple[str, str] | None:
        """(file, holder) of the definition behind a holder; None where that is not in the project. A variable of the environment is in
        no file, "", nor is a parameter of methods that several classes may have."""
        kind, _, name = holder.partition(":")
        if kind in ("env", "method"):
            return "", holder
        if kind not in ("import", "star", "own") or kind == "own" and not name.endswith(")"):
            return path, holder
        if (path, holder) not in self._nodes:
            self._nodes[path, holder] = self._resolve(path, kind, name)
        return self._nodes[path, holder]

    def _resolve(self, path: str, kind: str, name: str) -> tuple[str, str] | None:
        full, _, parameter = name.rstrip(")").partition("(")
        answer: Answer
        if kind == "own":
            known_kind = self._definitions.kind(path, full)
            answer = Definition(path, full, known_kind or "function"), ()
        elif kind == "star":
            answer = self._definitions.behind_stars(full, path)
        else:
            answer = self._definitions.find(full, path)
        if answer is None:
            return None
        home, attributes = answer
        if attributes:  # an attribute of an imported object
            return home.path, f"field:{attributes[-1]}"
        if parameter:
            return self._parameter(home, parameter)
        return home.path, f"own:{home.name}"

    def _parameter(self, home: Definition, parameter: str) -> tuple[str, str] | None:
        """`parameter`: its name, or its position. A class without an `__init__` of its own sets an attribute of that name."""
        if home.kind != "class" and parameter[0] != "#":
            return home.path, f"own:{home.name}({parameter})"
        function = self._definitions.called(home)
        if parameter[0] == "#":
            position = int(parameter[1:]) + (home.kind == "class")
            given = positional(function.args, position) if function is not None else None
            return (home.path, f"own:{home.name}({given.arg})") if given is not None else None
        known = function is not None and parameter in parameters(function)
        return home.path, f"own:{home.name}({parameter})" if known else f"field:{parameter}"

    # ---- files that are not edited

    def of(self, results: Mapping[str, FileResult], refused: Mapping[str, tuple[int, ...]]) -> dict[str, FileResult]:
        """The other files with places of values that `results` edit, by path. `refused`: files that could not be parsed, with the
        lines of the parts in question; () for the whole file. They are searched as text."""
        others: dict[str, FileResult] = {}
        todo = dict(results)
        words: set[str] = set()
        parameters: set[str] = set()  # "start(backend)"
        unread = {
            path: part
            for path, lines in refused.items()
            if (data := self.data(path)) and _value(part := _cut(data, lines, kind_of(path) == NOTEBOOK))
        }
        while todo:
            fresh: dict[str, None] = {}
            mine: set[str] = set()
            for path, result in sorted(todo.items()):
                for holder in _holders(result):
                    if not holder.startswith("local:"):
                        mine |= _words(holder)
                        parameters |= {_last(holder)} if holder.endswith(")") else set()
                    node = self.node(path, holder)
                    if node and node[0] and node[0] not in results and node[0] not in others:
                        fresh[node[0]] = None
            for path in self._saying(mine - words):
                if path not in results and path not in others:
                    fresh[path] = None
            words |= mine
            todo = {path: looked for path in sorted(fresh) if (looked := self.look(path)) and looked.sites}
            others.update(todo)
        for path, part in sorted(unread.items()):
            role = "unknown" if kind_of(path) in (PYTHON, NOTEBOOK, SHELL) else "setting"
            if sites := tuple(sorted(self._guessed(part, words, parameters, role))):
                others[path] = FileResult(path, sites=sites)
        return {**others, **handing(self, results, others, self._follow)}

    @staticmethod
    def _guessed(data: bytes, words: set[str], parameters: set[str], role: str) -> Iterator[Site]:
        """The sites of a text that cannot be parsed: each of these words that stands in it may hold the value, or a call of what has
        these parameters may give it."""
        value = _value(data)
        line = data.count(b"\n", 0, value.start() if value else 0) + 1
        imports = imported_names(data)

        def full(word: str) -> list[str]:
            return sorted({name if name.rpartition(".")[2] == word else joined(name, word) for name in imports})

        for word in words:
            if re.search(rb"\b%s\b" % re.escape(word).encode(), data):
                fields = [f"field:{word}"] if role == "setting" or _is_read(word, data) else []
                for holder in (*fields, f"own:{word}", *(f"import:{name}" for name in full(word))):
                    yield Site(holder, 0, line, role, "refused")
        for function, parameter in (given.split("(") for given in parameters):
            if function.encode() in data:
                yield from (Site(f"import:{name}({parameter}", 0, line, role, "refused") for name in full(function))

    def _saying(self, words: set[str]) -> list[str]:
        """The files with a value and one of these words that this run does not edit."""
        if not words or not self._others:
            return []
        pattern = re.compile(
            rb"\b(?:%s)\b" % b"|".join(re.escape(w).replace(b"_", b"[-_]") for w in sorted(x.encode() for x in words))
        )
        return [path for path, data in self._others.items() if pattern.search(data)]

    @cached_property
    def _others(self) -> dict[str, bytes]:
        """No log and no text: what has no kind by its name is read where its first line says Python."""
        texts = {}
        for path in self.files:
            if path in self.named or not (kind_of(path) or has_python_shebang(self.root / path)):
                continue
            if (data := self.data(path)) and _value(data):
                texts[path] = data
        return texts

    @property
    def unseen(self) -> frozenset[str]:
        """The files with a value that the run is not about."""
        return frozenset(self._others)

    def imported(self, path: str, data: bytes) -> set[str]:
        """The files of the project that a file imports. No file changes during a run."""
        if path not in self._imported:
            self._imported[path] = self._definitions.imported(path, data)
        return self._imported[path]

    def data(self, path: str) -> bytes | None:
        try:
            return read(self.root / path, path, limit=_LARGEST)
        except FilesError:
            return None

    def look(self, path: str) -> FileResult | None:
        if path not in self._looked:
            self._looked[path] = self._look_at(path)
        return self._looked[path]

    def _look_at(self, path: str) -> FileResult | None:
        data = self.data(path)
        if data is None or not _value(data):
            return None
        result = self._glance(path, data)
        if not result.sites:
            return result
        status = self._status(path)
        return FileResult(path, sites=tuple(s._replace(status=status) for s in result.sites), ties=result.ties)

    @cached_property
    def _top(self) -> str:
        return real(self.root)

    def _status(self, path: str) -> str:
        if os.path.commonpath([real(self.root / path), self._top]) != self._top:
            return "outside"
        if path in self.named:
            return "refused"
        return "excluded" if self._excluded(path) else "unnamed"

    # ---- files that belong together

    def takers(self, holder: str) -> set[str]:
        """The files that declare an option, given by its holder, that scripts pass."""
        return {path for name, _, path in self._takes if "field:" + name.rpartition(".")[2].replace("-", "_") == holder}

    def related(self, path: str, others: Iterable[str]) -> list[str]:
        """The files of `others` that run in one program with the file: one imports the other, or a third imports both."""
        mine = self._above(path)
        return [other for other in sorted(others) if not mine.isdisjoint(self._above(other))]

    def _above(self, path: str) -> set[str]:
        return reached([path], lambda file: self._importers.get(file, ()))

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        importers: dict[str, set[str]] = {}
        for path in self.files:
            kind = kind_of(path)
            if kind in (PYTHON, NOTEBOOK) and (data := self.data(path)) and b"import" in data:
                for other in self.imported(path, lines_of_cells(data) if kind == NOTEBOOK else data):
                    importers.setdefault(other, set()).add(path)
        return importers

    def is_read_only(self, path: str) -> bool:
        return bool(ask(self.root / path, "read-only"))


def _value(data: bytes) -> re.Match[bytes] | None:
    """The first value in a text. A search for its words in lower case excludes most files."""
    low = data.lower()
    return _VALUE.search(low) if b"cuda" in low or b"nccl" in low else None


def _holders(result: FileResult) -> list[str]:
    return sorted({site.holder for site in result.sites} | {holder for pair in result.ties for holder in pair})


def _last(holder: str) -> str:
    """`start(backend)` of `import:run.start(backend)`"""
    named, bracket, parameter = holder.partition("(")
    return re.split(r"[:.]", named)[-1] + bracket + parameter


def _words(holder: str) -> set[str]:
    """Words of which a file with this holder contains one: of a parameter its name, and that of the function, for a call may give it
    by position."""
    named, _, parameter = _last(holder).rstrip(")").partition("(")
    return {word for word in (named, parameter) if word and word[0] != "#"} or {holder}


def _is_read(word: str, data: bytes) -> bool:
    """Whether a script that no Python runs as it is may read a field: as an attribute, by its name in quotes, in a comparison.
    Else it has a variable or an argument of that name, which nothing proves to be the same value."""
    name = re.escape(word).encode()
    reads = rb"[.\"'-]%s\b|\b%s\s*(?:[=!]=|in\b|not\b|is\b|:)|(?:[=!]=|\bin)\s*%s\b" % (name, name, name)
    return re.search(reads, data) is not None


def _cut(data: bytes, lines: tuple[int, ...], is_notebook: bool) -> bytes:
    """The text with only the statements, or cells, that begin in these lines; other lines are empty. Without lines: all of it."""
    if not lines:
        return data
    rows = data.split(b"\n")
    kept: set[int] = set()
    for line in lines:
        end = line + _LONGEST - 1
        if is_notebook:
            end = next((n for n in range(line, len(rows)) if not _STRING.match(rows[n])), len(rows))
        kept.update(range(line, end + 1))
    return b"\n".join(row if number in kept else b"" for number, row in enumerate(rows, 1))
