"""Says whether anything in a project uses a name that a file defines, or runs the file at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property

from porter.files.kinds import NATIVE, PYTHON, kind_of
from porter.files.paths import bytes_of, folder_of
from porter.project.gists import Gists, folded
from porter.project.idle_files import IdleFiles, stem_of
from porter.project.imports import Import, Project, Projects, imports
from porter.project.installed import Installed
from porter.project.loaded_names import LoadedNames
from porter.project.looked_up_names import LookedUpNames
from porter.project.meant_names import MeantNames, is_comment, is_in_prose, whole_word
from porter.project.near_first import NearFirst
from porter.project.said_words import SaidWords
from porter.python.graphs import reached
from porter.python.kept import Remember, Rows, anew, rows_of
from porter.python.trees import parse
from porter.regex import lazy

Read = Callable[[str], bytes]

_REGISTERS = lazy(rb"^@(\w*(?:\.\w+)*register\w*)", re.MULTILINE)
_NAMED = lazy(rb"\n(?:(?:async[ \t]+)?(?:def|class)[ \t]+)?([A-Za-z_]\w*)")  # in the first column
_TEXTS = frozenset({".md", ".rst", ".txt"})
_SHORT = 32_768  # bytes; shorter texts are kept in memory
_TEXTS_AT_MOST = 2_000  # files that are not Python; of more, most are data, and it would take too long to read them


class Uses:
    """The uses of names in the files of a project. Files are read when they are needed.

    Where a project has too many files that are no Python (_TEXTS_AT_MOST), answers are those that set nothing aside.
    """

    def __init__(
        self,
        files: Callable[[], Sequence[str]],
        read: Read,
        kept: Remember = anew,
        projects: Projects | None = None,
    ) -> None:
        """`kept`: what single files said in an earlier run. `projects`: shared with other questions of the run."""
        self._list, self._read, self._known, self._kept = files, read, dict[str, bytes](), kept
        self._gists = Gists(self.text, self._known)
        self._near = NearFirst()
        self._projects, self._read_imports = projects or Projects(), dict[str, list[Import]]()
        self._said = SaidWords(self._gists.of, self.text)
        self._tree: tuple[str, ast.Module | None] = ("", None)  # of the file that was asked last
        # which files a pattern matches, as far as it was asked
        self._matching: dict[re.Pattern[bytes], dict[str, bool]] = {}

    def will_ask(self, homes: Iterable[str]) -> None:
        """Announces the files about which, and about whose names, questions will come."""
        names = {name for home in homes for name in _NAMED.findall(b"\n" + self.text(home))}
        self._said.will_ask(names.union(bytes_of(stem_of(path)) for path in self._sources))

    @cached_property
    def _files(self) -> list[str]:
        return [path for path in self._list() if _may_use(path)]

    @cached_property
    def _sources(self) -> list[str]:
        return [path for path in self._files if kind_of(path) == PYTHON]

    @cached_property
    def _meant(self) -> MeantNames:
        return MeantNames(self._sources, self.text, self._project)

    @cached_property
    def _project(self) -> Project:
        return self._projects.of(self._sources, self._imports)

    def _imports(self, path: str) -> list[Import]:
        if path not in self._read_imports:
            self._read_imports[path] = list(imports(self.text(path)))
        return self._read_imports[path]

    def is_idle(self, home: str) -> bool:
        """Whether certainly nothing runs a file."""
        if self.is_installed(home) or not self._idle.has(home):
            return False
        leading = self._idle.leading(home)
        if self.may_be_any(home, leading):
            return False
        return not any(self._loaded.has(path) or self._is_for_a_library(path) for path in leading)

    def _is_for_a_library(self, path: str) -> bool:
        """Whether a file registers something in a library, which may load the file: `@register_task("x")` of fairseq."""
        marks = {mark.partition(b".")[0].decode() for mark in _REGISTERS.findall(self.text(path))}
        return bool(marks) and any(
            (alias or name) in marks
            for statement in self._project.read(path)
            if not self._project.named(path, statement.module)
            for name, alias in statement.names
        )

    @cached_property
    def _idle(self) -> IdleFiles:
        others = [path for path in self._files if kind_of(path) != PYTHON]
        sources = self._sources if len(others) <= _TEXTS_AT_MOST else ()
        return IdleFiles(sources, others, self.text, self._project, self._said.may_say)

    def is_taken(self, home: str) -> bool:
        """Whether another file imports this one. Else its purpose is not known."""
        return next(self._importers(home), None) is not None

    def _importers(self, home: str) -> Iterator[str]:
        folder, _, name = home.rpartition("/")
        word = bytes_of(folder.rpartition("/")[2] if name == "__init__.py" else name.removesuffix(".py"))
        near = self._near.of(self._sources, folder_of(home))
        saying = (path for path in near if path != home and self._said.may_say(path, word))
        return (path for path in saying if home in self._project.files(path))

    def comes_to(self, home: str, pattern: re.Pattern[bytes]) -> bool:
        """Whether a pattern matches a file, one that imports it, or one that these come to by imports."""
        known = self._matching.setdefault(pattern, {})
        for path in reached([home, *self._importers(home)], self._project.files):
            if path not in known:
                known[path] = pattern.search(self.text(path)) is not None
            if known[path]:
                return True
        return False

    def text(self, path: str) -> bytes:
        """The text of a file. Python and short texts are kept in memory; all others together may be gigabytes."""
        known = self._known.get(path)
        if known is None:
            known = self._read(path)
            if len(known) <= _SHORT or kind_of(path) == PYTHON:
                self._known[path] = known
        return known

    def tree(self, path: str) -> ast.Module | None:
        """The tree of a file. Several questions in a row are about one file."""
        if self._tree[0] != path:
            self._tree = path, parse(self.text(path))
        return self._tree[1]

    def rows(self, path: str, question: str, make: Callable[[], Rows]) -> Rows:
        """What the bytes of a file say, and they alone."""
        return rows_of(self.text(path), question, (), make, self._kept)

    def is_installed(self, home: str) -> bool:
        """Whether others may install the package of a file, and use any part of it."""
        return self._installed.has(home)

    @cached_property
    def _installed(self) -> Installed:
        return Installed(self._files, self._sources, self.text)

    def may_be_any(self, home: str, idle: Collection[str] = ()) -> bool:
        """Whether any part of a file may be used by a name that is made at run time. `idle`: files that nothing runs either."""
        return self._loaded.has_parts(home) or self._looked_up.has(home, idle)

    @cached_property
    def _loaded(self) -> LoadedNames:
        return LoadedNames(self._sources, self.text)

    @cached_property
    def _looked_up(self) -> LookedUpNames:
        return LookedUpNames(self._sources, self.text, self._project)

    def users(self, name: str, home: str) -> Iterator[str]:
        """The other files that use a name that `home` defines, those near it first; "" for files that are not searched."""
        word, whole = name.encode(), whole_word(name.encode())
        others = self._files if len(self._files) - len(self._sources) <= _TEXTS_AT_MOST else self._sources
        for path in self._said.saying(self._near.of(others, folder_of(home)), word):
            if path != home:
                text = self.text(path)
                places = (match.span() for match in whole.finditer(text))
                if any(
                    not is_comment(text, start) and not is_in_prose(path, text, start, end) for start, end in places
                ):
                    if kind_of(path) != PYTHON or self._meant.uses(name, path, home):
                        yield path
        if others is not self._files:
            yield ""

    def is_own(self, module: str) -> bool:
        """Whether a module belongs to the project."""
        return self._meant.is_own(module)

    def says(self, name: str, home: str, is_of_others: Callable[[bytes, int], bool]) -> bool:
        """Whether a name stands in another file, or may stand there, whatever it means. A method of the same name calls none;
        `is_of_others` tells of further places."""
        word = name.encode()
        whole = re.compile(rb"%s\b(?<=\b%s)(?<!def %s)" % (word, word, word))
        if len(self._files) - len(self._sources) > _TEXTS_AT_MOST:
            return True
        near = (path for path in self._near.of(self._files, folder_of(home)) if path != home)
        texts = (text for path in near if word in self._gists.of(path) and word in (text := self.text(path)))
        places = ((text, match.start()) for text in texts for match in whole.finditer(text))
        return any(not is_comment(*place) and not is_of_others(*place) for place in places)

    def saying(self, word: bytes, home: str) -> Iterator[tuple[str, bytes]] | None:
        """The files that contain a word as it is, in small letters, in capitals or with hyphens, and their texts. Files near
        `home` come first, and each is searched when it is asked for. None if the project has too many files besides its sources."""
        if len(self._files) - len(self._sources) > _TEXTS_AT_MOST:
            return None
        spellings, known = {word, word.upper(), word.lower(), word.replace(b"_", b"-")}, folded(word)
        near = (path for path in self._near.of(self._files, folder_of(home)) if known in self._gists.folded(path))
        texts = ((path, self.text(path)) for path in near)
        return ((path, text) for path, text in texts if any(word in text for word in spellings))

    def somewhere(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether any file matches a pattern, or may."""
        if len(self._files) - len(self._sources) > _TEXTS_AT_MOST:
            return True
        return any(pattern.search(self.text(path)) for path in self._files)

    def around(self, top: str, pattern: re.Pattern[bytes]) -> bool:
        """Whether a pattern matches a file that may have to do with those of `top`, a folder of the root, "models/": one in it or
        in the root itself, or one that names it or comes to it by imports. "" is all of them."""
        if not top or len(self._files) - len(self._sources) > _TEXTS_AT_MOST:
            return self.somewhere(pattern)
        near: list[str] = []
        others: list[str] = []
        for path in self._files:
            (near if "/" not in path or path.startswith(top) else others).append(path)
        return (
            any(pattern.search(self.text(path)) for path in near)
            or any(  # mostly one of the near ones matches
                bytes_of(top[:-1]) in self.text(path)
                or any(file.startswith(top) for file in reached([path], self._project.files))
                for path in others
                if pattern.search(self.text(path))
            )
        )


def _may_use(path: str) -> bool:
    kind = kind_of(path)
    return kind not in ("", NATIVE) or path[path.rfind(".") :] in _TEXTS
