"""Advice about code that nothing in the project uses is a note: it costs no run anything.

A function or class at the top of a file is used where its name stands in another file of the project, of whatever kind; in
a statement of its own file that runs on import; or in a function or class that is used. A file that only hands it on, or
has the name from elsewhere, does not use it. What is decorated is used, for a registry may have it. A project that looks
names up at run time, or that others install, may use all of its own. A package that is installed for programs of its own
project, and that nobody is told to install by itself, is no such thing.

So is all that is said of a file that nothing runs, and advice about code for Apple's MLX.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from porter.engine.together import is_only_told, lines_of
from porter.files.kinds import NATIVE, PYTHON, kind_of
from porter.files.paths import SIDE, is_test
from porter.finding import FileResult, Finding
from porter.project.apple_code import AppleCode
from porter.project.idle_files import IdleFiles
from porter.project.imports import imports
from porter.project.meant_names import MeantNames, is_comment
from porter.python.graphs import reached
from porter.python.trees import parse
from porter.python.walks import walk
from porter.regex import lazy

Read = Callable[[str], bytes]

_OF_CODE = tuple(f"PRT{family}" for family in "1234567")  # families that speak of what a program does
_SPEAKS = frozenset({"bystanders", "other_files"})  # of `Finding.values`: it speaks for other files
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
_WORD = lazy(r"[A-Za-z_]\w*")
_HEAD = lazy(rb"(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z_]\w*)")
_INSIDE = lazy(rb"\s|$|#|[)\]}]")  # what stands at the margin, and begins nothing
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TEXTS = frozenset({".md", ".rst", ".txt"})
_SHORT = 32_768  # bytes
_TEXTS_AT_MOST = 2_000  # beside the programs; of more, most are data, and reading them takes longer than all the rest


class Uses:
    """Where names stand in the files of a project, which are read when they are asked for."""

    def __init__(self, files: Callable[[], Sequence[str]], read: Read) -> None:
        self._list, self._read, self._known = files, read, dict[str, bytes]()
        self._programs: dict[tuple[str, str], bool] = {}  # of a folder and a package in it
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

    def is_taken(self, home: str) -> bool:
        """Whether another file imports this one: else nobody knows for whom it is there."""
        folder, _, name = home.rpartition("/")
        word = (folder.rpartition("/")[2] if name == "__init__.py" else name.removesuffix(".py")).encode()
        near = self._near_first(self._sources, _folder(home))
        return any(p != home and word in self.text(p) and self._meant.takes(p, home) for p in near)

    def text(self, path: str) -> bytes:
        """Programs and short texts are kept, for each is asked for many names; of others there may be gigabytes."""
        known = self._known.get(path)
        if known is None:
            known = self._read(path)
            if len(known) <= _SHORT or kind_of(path) == PYTHON:
                self._known[path] = known
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
        top = home.partition("/")[0]
        near = (p for p in self._sources if "/" not in p or p.partition("/")[0] == top)
        if any(_says(text := self.text(p), _LOADS) and _LOADED.search(text) for p in near):
            return True
        words = [word.encode() for word in {stem, *folder.split("/")} if word]
        asked, starred = _looked_up_of(words), _starred(stem.encode())
        texts = [text for p in self._sources if p != home and any(map((text := self.text(p)).__contains__, words))]
        found = any(_says(text, _LOOKS_UP) and asked.search(text) for text in texts) or any(
            _STARRED.search(text) and starred.search(text) and _LOOKED_UP.search(text) for text in texts
        )
        return found or _LOOKED_UP.search(self.text(home)) is not None

    def elsewhere(self, name: str, home: str) -> bool:
        """Whether a name stands in another file, in code that is no comment, or may: a heap of data is not looked through.
        What is near comes first."""
        word = name.encode()
        whole = re.compile(rb"%s\b(?<=\b%s)" % (word, word))  # plain letters first: found in a tenth of the time
        others = self._files if len(self._files) - len(self._sources) <= _TEXTS_AT_MOST else self._sources
        for path in self._near_first(others, _folder(home)):
            if path != home and word in (text := self.text(path)):
                if any(not is_comment(text, match.start()) for match in whole.finditer(text)):
                    if kind_of(path) != PYTHON or self._meant.uses(name, path, home):
                        return True
        return others is not self._files

    def _near_first(self, paths: list[str], folder: str) -> list[str]:
        if folder not in self._sorted:
            self._sorted = {folder: sorted(paths, key=lambda path: not path.startswith(folder))}
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


def rested(results: Iterable[FileResult], uses: Uses, once: Callable[[str, str], bool]) -> list[FileResult]:
    """The results with advice about unused code made notes, that name what is unused; `once`: of a code and its message,
    whether the first place of a file speaks for all."""
    return [_rested(result, uses, once) for result in results]


def _rested(result: FileResult, uses: Uses, once: Callable[[str, str], bool]) -> FileResult:
    told = [f for f in result.findings if _matters_where_it_runs(f)]
    if not told or kind_of(result.path) != PYTHON:
        return result
    if uses.is_idle(result.path):
        return _as_notes(result, dict.fromkeys(told, ("unused", result.path)))
    apple = AppleCode(uses.text(result.path))
    result = _as_notes(result, {f: ("apple", "mlx") for f in told if all(map(apple.has, lines_of(f)))})
    return _rested_parts(result, uses, once)


def _as_notes(result: FileResult, why: Mapping[Finding, tuple[str, str]]) -> FileResult:
    if not why:
        return result
    findings = (replace(f, severity="note", values=(*f.values, why[f])) if f in why else f for f in result.findings)
    return replace(result, findings=tuple(findings))


def _rested_parts(result: FileResult, uses: Uses, once: Callable[[str, str], bool]) -> FileResult:
    advice = {f: lines_of(f) for f in result.findings if _matters_where_it_runs(f) and not once(f.code, f.why)}
    if not advice or uses.is_installed(result.path):
        return result
    lines = uses.text(result.path).split(b"\n")
    owners = {f: {_owner(lines, number) for number in numbers} for f, numbers in advice.items()}
    names = {name for several in owners.values() for name in several if name}
    unused = _unused({name for name in names if not uses.elsewhere(name, result.path)}, result.path, uses)
    resting = {f: ("unused", min(map(str, own))) for f, own in owners.items() if unused.issuperset(own)}
    return _as_notes(result, resting if unused else {})


def _unused(names: set[str], path: str, uses: Uses) -> set[str]:
    """Of the functions and classes at the top of a file that no other file mentions, those that nothing uses."""
    tree = parse(uses.text(path)) if names else None
    if tree is None:
        return set()
    own = {name: node for node in tree.body if (name := _defined(node))}
    inside = {name: _words(node) & own.keys() - {name} for name, node in own.items()}
    defining = {*own.values()}
    running = [node for node in tree.body if node not in defining or getattr(node, "decorator_list", None)]
    running = [node for node in running if not _is_list_of_names(node)]
    used = reached(set().union(*map(_words, running)) & own.keys(), lambda name: inside[name])
    used |= {node.name for node in running if isinstance(node, _DEFINITIONS)}
    if not used and not uses.is_taken(path):
        return set()
    users = {name: {user for user, words in inside.items() if name in words} for name in own}
    unused = set()
    for name in sorted(names & own.keys() - used):
        line = reached([name], lambda name: users[name])
        if line.isdisjoint(used) and not any(uses.elsewhere(user, path) for user in sorted(line - {name})):
            unused.add(name)
    return set() if unused and uses.may_be_any(path) else unused


def _defined(node: ast.stmt) -> str:
    """The name of a function, of a class, or of an alias of one: `attend = Attend.apply`."""
    if isinstance(node, _DEFINITIONS):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        if isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name):
            return node.targets[0].id
    return ""


def _matters_where_it_runs(finding: Finding) -> bool:
    """What it says matters where its own place runs, and nowhere else."""
    if not finding.code.startswith(_OF_CODE):
        return False
    return is_only_told(finding) and _SPEAKS.isdisjoint(dict(finding.values))


def _owner(lines: Sequence[bytes], number: int) -> str | None:
    """The function or class at the top of a file in which a line stands."""
    margin = (line for line in reversed(lines[:number]) if not _INSIDE.match(line))
    match = _HEAD.match(next(margin, b""))
    return match[1].decode() if match else None


def _is_list_of_names(node: ast.stmt) -> bool:
    """`__all__ = [...]`: what it hands on is used where somebody takes it."""
    return isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets)


def _words(node: ast.AST) -> set[str]:
    """All names, and all words of texts, for a registry may look them up."""
    words: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            words.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            words.add(inner.attr)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            words.update(_WORD.findall(inner.value))
    return words


def _may_use(path: str) -> bool:
    kind = kind_of(path)
    return kind not in ("", NATIVE) or path[path.rfind(".") :] in _TEXTS
