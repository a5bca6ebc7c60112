"""Where names stand in the files of a project: `unused.py` asks it about functions and classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from porter.files.kinds import NATIVE, PYTHON, kind_of
from porter.files.paths import SIDE, is_test
from porter.project.idle_files import IdleFiles
from porter.project.imports import imports
from porter.project.meant_names import MeantNames, is_comment
from porter.regex import lazy

Read = Callable[[str], bytes]

_PACKAGING = ("setup.py", "pyproject.toml", "setup.cfg")
_INSTALLED = lazy(rb"\bsetup\s*\(|^\[(?:project|tool\.poetry|metadata)\]", re.MULTILINE)
_NAME = lazy(rb"\bname[ \t]*=[ \t]*[\"']([\w.-]+)[\"']")
_PACKAGES = lazy(rb"\b(?:packages|py_modules|package_dir)\s*=")
_PUBLISHED = lazy(rb"\bclassifiers\b|Programming Language ::")
# names that are made at run time: of what a file itself holds, and of any module
_LOOKED_UP = lazy(rb"\bglobals\(|\bvars\(\)|__dict__|(?<![.\w])eval\(|\bsys\.modules\b")
_LOADED = lazy(rb"(?:import_module|__import__)\([ \t\n]*(?![ruRU]?[\"'][\w.]+[\"'][ \t]*[,)])")
# what is looked for first, as most files have none of it
_LOADS, _LOOKS_UP = (b"import_module", b"__import__"), (b"getattr(", b"vars(", b"__dict__")
_STARRED = lazy(rb"import[ \t]+\*")
_TEXTS = frozenset({".md", ".rst", ".txt"})
_SHORT, _ROOM = 32_768, 8_000_000  # bytes: of a text that is kept at all events, and of all longer ones that are
_TEXTS_AT_MOST = 2_000  # beside the programs; of more, most are data, and reading them takes longer than all the rest


class Uses:
    """Where names stand in the files of a project, which are read when they are asked for."""

    def __init__(self, files: Callable[[], Sequence[str]], read: Read) -> None:
        self._list, self._read, self._known = files, read, dict[str, bytes]()
        self._programs: dict[tuple[str, str], bool] = {}  # of a folder and a package in it
        self._room = _ROOM
        self._loading: dict[str, bool] = {}  # by the folder at the top
        self._sorted: dict[str, list[str]] = {}  # of the folder that was asked last

    @cached_property
    def _files(self) -> list[str]:
        return [path for path in self._list() if _may_use(path)]

    @cached_property
    def _lists(self) -> list[str]:
        return [path for path in self._files if path.rpartition("/")[2] in _PACKAGING]

    @cached_property
    def _sources(self) -> list[str]:
        return [path for path in self._files if kind_of(path) == PYTHON]

    @cached_property
    def _meant(self) -> MeantNames:
        return MeantNames(self._sources, self.text)

    def is_idle(self, home: str) -> bool:
        """Whether nothing runs a file, for certain: a heap of data is not looked through."""
        return not self.is_installed(home) and self._idle.has(home) and not self.may_be_any(home)

    @cached_property
    def _idle(self) -> IdleFiles:
        others = [path for path in self._files if kind_of(path) != PYTHON]
        return IdleFiles(self._sources if len(others) <= _TEXTS_AT_MOST else (), others, self.text)

    def text(self, path: str) -> bytes:
        """Programs and short texts are kept, for each is asked for many names, and the first of the others: of those there
        may be gigabytes."""
        known = self._known.get(path)
        if known is None:
            known = self._read(path)
            plain = len(known) <= _SHORT or kind_of(path) == PYTHON
            if plain or len(known) <= self._room:
                self._known[path] = known
                self._room -= 0 if plain else len(known)
        return known

    def is_installed(self, home: str) -> bool:
        """Whether others may install a file, and use what they like of it."""
        lists = [p for p in self._lists if home.startswith(_folder(p)) and self._installs(p)]
        return bool(lists) and not all(self._is_for_programs(p, home) for p in lists)

    def _installs(self, path: str) -> bool:
        """Whether a list names a package of Python files: some setup.py only builds an extension where it lies."""
        text = self.text(path)
        return _INSTALLED.search(text) is not None and (b"ext_modules" not in text or bool(_PACKAGES.search(text)))

    def _is_for_programs(self, setup: str, home: str) -> bool:
        """Whether a package is installed for programs that lie beside it, and offered to nobody else."""
        folder = _folder(setup)
        package = home.removeprefix(folder).removeprefix("src/").partition("/")[0]
        key = (folder, package)
        if key not in self._programs:
            self._programs[key] = self._has_programs(folder, package) and not self._is_offered(setup, package)
        return self._programs[key]

    def _has_programs(self, folder: str, package: str) -> bool:
        word, inside = package.encode(), (f"{folder}{package}/", f"{folder}src/{package}/")
        return any(
            path.startswith(folder) and not path.startswith(inside) and not is_test(path) and not SIDE.search(path)
            and word in (text := self.text(path)) and b"__main__" in text
            and any(statement.module.partition(".")[0] == package for statement in imports(text))
            for path in self._sources
        )  # fmt: skip

    def _is_offered(self, setup: str, package: str) -> bool:
        """Whether it is published, or a text tells others to install it."""
        lists = [self.text(path) for path in self._lists if _folder(path) == _folder(setup)]
        names = {package.encode(), *(name for text in lists for name in _NAME.findall(text))}
        asked = b"|".join(re.escape(name).replace(b"_", b"[-_]") for name in sorted(names))
        installs = re.compile(rb"(?i)pip3?[ \t]+install\b[^\n]*(?:\b(?:%s)\b|git\+)" % asked)
        texts = (self.text(path) for path in self._files if path.endswith((".md", ".rst")))
        return any(map(_PUBLISHED.search, lists)) or any(b"install" in text and installs.search(text) for text in texts)

    def may_be_any(self, home: str) -> bool:
        """Whether anything in a file may be used by a name that is made at run time."""
        folder, _, stem = home.removesuffix(".py").rpartition("/")
        if self._loads_any(home.partition("/")[0]):
            return True
        words = [word.encode() for word in {stem, *folder.split("/")} if word]
        asked, starred = _looked_up_of(words), _starred(stem.encode())
        asking = (self.text(p) for p in self._looking_up if p != home)
        if any(_says(text, words) and asked.search(text) for text in asking):
            return True
        taking = (self.text(p) for p in self._taking_all if p != home)
        return any(map(starred.search, taking)) or _LOOKED_UP.search(self.text(home)) is not None

    @cached_property
    def _looking_up(self) -> list[str]:
        return [path for path in self._sources if _says(self.text(path), _LOOKS_UP)]

    @cached_property
    def _taking_all(self) -> list[str]:
        """The files that have all names of another one, and look some up."""
        texts = ((path, self.text(path)) for path in self._sources)
        return [path for path, text in texts if b"*" in text and _STARRED.search(text) and _LOOKED_UP.search(text)]

    def _loads_any(self, top: str) -> bool:
        """Whether something in a folder at the top, or beside it, loads modules by names that are made at run time."""
        if top not in self._loading:
            near = (p for p in self._sources if "/" not in p or p.partition("/")[0] == top)
            self._loading[top] = any(_says(text := self.text(p), _LOADS) and _LOADED.search(text) for p in near)
        return self._loading[top]

    def elsewhere(self, names: Iterable[str], home: str) -> set[str]:
        """Of these names, those that stand in another file, in code that is no comment, or may: a heap of data is not looked
        through. What is near comes first, and each text is read once for all."""
        left = {name: name.encode() for name in names}
        found = set(left) if len(self._files) - len(self._sources) > _TEXTS_AT_MOST else set[str]()
        for path in self._near_first(_folder(home)) if len(found) < len(left) else ():
            if path != home:
                text = self.text(path)
                for name in [name for name, word in left.items() if word in text]:
                    if self._stands(name, text, path, home):
                        found.add(name)
                        del left[name]
            if not left:
                break
        return found

    def _stands(self, name: str, text: bytes, path: str, home: str) -> bool:
        word = name.encode()
        whole = re.compile(rb"%s\b(?<=\b%s)" % (word, word))  # plain letters first: found in a tenth of the time
        if all(is_comment(text, match.start()) for match in whole.finditer(text)):
            return False
        return kind_of(path) != PYTHON or self._meant.uses(name, path, home)

    def _near_first(self, folder: str) -> list[str]:
        if folder not in self._sorted:
            self._sorted = {folder: sorted(self._files, key=lambda path: not path.startswith(folder))}
        return self._sorted[folder]


def _says(text: bytes, words: Iterable[bytes]) -> bool:
    return any(word in text for word in words)


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _looked_up_of(modules: Iterable[bytes]) -> re.Pattern[bytes]:
    """`getattr(models, name)`, `models.__dict__`"""
    names = b"|".join(map(re.escape, modules))
    return re.compile(rb"(?:getattr|vars)\([ \t]*(?:\w+\.)*(?:%s)[ \t]*[,)]|\b(?:%s)\.__dict__" % (names, names))


def _starred(module: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"^[ \t]*from[ \t]+[\w.]*\b%s[ \t]+import[ \t]+\*" % re.escape(module), re.MULTILINE)


def _may_use(path: str) -> bool:
    kind = kind_of(path)
    return kind not in ("", NATIVE) or path[path.rfind(".") :] in _TEXTS
