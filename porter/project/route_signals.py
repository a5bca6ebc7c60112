"""Finds signals in the texts of a repository for the route by which it should be ported. rules/route.toml has the signals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from porter.files.paths import SIDE
from porter.project.copies import copied_library
from porter.project.entry_scripts import Scripts, own_folders, own_modules
from porter.project.import_lines import Import, imports
from porter.project.imports import lines_of_cells
from porter.regex import lazy
from porter.rulebook.table import Package, package_row

PLACES = 5  # places that are shown of a signal
# an import from, or an import, with the names that it binds
_IMPORTED = lazy(
    rb"^[ \t]*(?:from[ \t]+(\w[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n;]+)|import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?)",
    re.MULTILINE,
)
_NOISE = lazy(rb"#[^\n]*|[()\\]")
_ADDED = b"\f\n"  # no notebook has a form feed as it is: JSON forbids it
Data = Callable[[str], "bytes | None"]


class _Code(NamedTuple):
    """A text in which imports can be seen, line by line."""

    text: bytes
    added: bytes = b""  # what ends the lines that the file does not have

    def line(self, offset: int) -> int:
        """The line of the file."""
        added = self.text.count(self.added, 0, offset) if self.added else 0
        return self.text.count(b"\n", 0, offset) - added + 1


class Signal(NamedTuple):
    """One signal that was found."""

    name: str
    files: int
    places: tuple[str, ...]  # path:line, the repository's own code before its tests and examples


class Imported(NamedTuple):
    """One third-party package of the rules that the repository imports."""

    name: str
    files: int
    place: str
    names: tuple[tuple[str, int], ...]  # what is imported from it, and in how many files; most used first


class Gathered(NamedTuple):
    packages: tuple[Imported, ...] = ()
    entries: tuple[str, ...] = ()  # scripts that start something with torch


def present(paths: Iterable[str], data: Data, signals: dict[str, dict[str, Any]]) -> tuple[Signal, ...]:
    """The signals of a repository. Files are not parsed, as every run on a terminal names a route."""
    paths = tuple(paths)
    own = frozenset(word for path in paths for word in path.removesuffix(".py").split("/"))
    places: dict[str, list[tuple[str, int]]] = {name: [] for name in signals}
    words = {name: [word.encode() for word in signal.get("words", ())] for name, signal in signals.items()}
    for path in paths:
        if (code := _code(path, data)) is not None:
            for name, line in _present(path, code, signals, words, own):
                places[name].append((path, line))
    return tuple(Signal(name, len(hits), _shown(hits)) for name, hits in places.items() if hits)


def gather(paths: Iterable[str], data: Data, packages: Mapping[str, Package]) -> Gathered:
    """The imported packages and the entry scripts, for whole reports. Files are not parsed."""
    paths = tuple(paths)
    homes = own_folders(paths, frozenset(packages))
    modules = own_modules(paths, frozenset(packages), lambda path: _first_words(imports(data(path) or b"")))
    imported: dict[str, list[tuple[str, int]]] = {}
    parts: dict[str, Counter[str]] = {}
    scripts = Scripts(paths)
    for path in paths:
        code = _code(path, data)
        if code is None:
            continue
        statements = list(imports(code.text))
        for name, offset in _packages(statements, packages):
            beside = path.rpartition("/")[0] in modules.get(name, ())
            if not beside and not any(path.startswith(home) for home in homes.get(name, ())):
                imported.setdefault(name, []).append((path, code.line(offset)))
                parts.setdefault(name, Counter()).update(_parts(name, code.text, statements))
        if path.endswith(".py"):
            scripts.look(path, code.text, statements)
    known = (Imported(name, len(hits), _shown(hits)[0], _ranked(parts[name])) for name, hits in imported.items())
    entries = tuple(sorted(scripts.entries(), key=lambda path: _order((path, 0))))
    return Gathered(tuple(sorted(known, key=lambda p: (-p.files, p.name))), entries)


def _code(path: str, data: Data) -> _Code | None:
    text = data(path)
    if text is None:
        return None
    return _Code(lines_of_cells(text, _ADDED), _ADDED) if path.endswith(".ipynb") else _Code(text)


def _present(
    path: str, code: _Code, signals: dict[str, dict[str, Any]], words: dict[str, list[bytes]], own: frozenset[str]
) -> Iterator[tuple[str, int]]:
    """The signals of a file, each with its first line; `words`: one of which each needs; `own`: of the project's paths."""
    offsets: dict[str, int] = {}
    for statement in imports(code.text):
        for module in statement.modules:
            offsets.setdefault(module.partition(".")[0], statement.offset)
    for name, signal in signals.items():
        if path not in signal.get("only", (path,)) or not signal.get("copies", True) and copied_library(path):
            continue
        if "import" in signal:
            found = [offsets[package] for package in signal["import"] if package in offsets]
            if found:
                yield name, code.line(min(found))
        elif signal.get("imports", "") in ("", *offsets) and any(word in code.text for word in words[name]):
            package = signal.get("imports", "")
            strangers = _strangers(code.text, own | {package}) if package else frozenset()
            line = _first(_pattern(signal["pattern"]), code, strangers)
            if line and _has_sources(code.text, signal.get("sources", ""), own):
                yield name, line


def _has_sources(text: bytes, pattern: str, own: frozenset[str]) -> bool:
    """Whether the project has one of the files that a text names, or the text names none. Some texts are of another project."""
    named = {name.decode("utf-8", "replace") for name in _pattern(pattern).findall(text)} if pattern else set()
    return not named or not named.isdisjoint(own)


def _first_words(statements: Iterable[Import]) -> set[str]:
    return {module.partition(".")[0] for statement in statements for module in statement.modules}


def _ranked(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


@cache
def _pattern(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.MULTILINE)


def _packages(statements: list[Import], packages: Mapping[str, Package]) -> list[tuple[str, int]]:
    first: dict[str, int] = {}
    for statement in statements:
        for module in statement.modules:
            if row := package_row(module, packages):
                first.setdefault(row[0], statement.offset)
    return sorted(first.items())


_parts_of: dict[str, re.Pattern[bytes]] = {}  # by package: a pattern for imports of its parts


def _parts(package: str, text: bytes, statements: Iterable[Import]) -> set[str]:
    """The parts that a text imports from a package: package.sub.one and package.sub.two of `from package.sub import one, two`."""
    if package not in _parts_of:
        name = rf"[ \t]*from[ \t]+({re.escape(package)}(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|[^\n;]+)"
        _parts_of[package] = re.compile(name.encode())
    parts, end = set[str](), 0
    for statement in statements:
        match = _parts_of[package].match(text, statement.offset) if statement.offset >= end else None
        if match is None:
            continue
        end = match.end()
        for item in _NOISE.sub(b" ", match[2]).split(b","):
            name = (item.split() or [b""])[0].decode("utf-8", "replace")
            if name.isidentifier():
                parts.add(f"{match[1].decode()}.{name}")
    return parts


def _strangers(text: bytes, known: frozenset[str]) -> frozenset[bytes]:
    """The names that a file imports from packages that are not among the known ones."""
    names: set[bytes] = set()
    for match in _IMPORTED.finditer(text):
        if (match[1] or match[3]).decode("utf-8", "replace").partition(".")[0] not in known:
            items = _NOISE.sub(b" ", match[2]).split(b",") if match[1] else [match[4] or match[3]]
            names.update(item.split()[-1] for item in items if item.strip())
    return frozenset(names)


def _first(pattern: re.Pattern[bytes], code: _Code, strangers: frozenset[bytes] = frozenset()) -> int:
    """The line of the first match that is not in a comment, and whose groups are no strangers' names; 0 where there is none."""
    for match in pattern.finditer(code.text):
        start = code.text.rfind(b"\n", 0, match.end()) + 1
        if not strangers.isdisjoint(match.groups()):
            continue
        if not code.text[start : match.end()].lstrip().startswith(b"#"):
            return code.line(match.end())
    return 0


def _order(place: tuple[str, int]) -> tuple[bool, int, str]:
    path = place[0]
    return (bool(SIDE.search(path)), path.count("/"), path)


def _shown(hits: list[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(f"{path}:{line}" for path, line in sorted(hits, key=_order)[:PLACES])
