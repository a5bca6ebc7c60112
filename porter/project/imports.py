"""Finds what the Python files of a project import, by a scan of their bytes, and which files of the project that means."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from porter.project.modules import IMPORTED, module_of
from porter.python.graphs import reached
from porter.regex import lazy
from porter.rulebook.table import hints

# what stands before `import` in `from module import ...`; the letters of other languages are bytes from \x80 on
_FROM = lazy(rb"(?:^|[;:])[ \t]*from(?:[ \t]+|(?=\.))([.\w \t\x80-\xff]+?)[ \t]*$")
_PLAIN = lazy(rb"(?:^|[;:])[ \t]*$")  # what stands before `import` in a statement without `from`
_NOISE = lazy(rb"#[^\n]*|\)[^\n]*|[(\\]")  # in a list of names: comments, signs, and what follows the closing bracket
_END = lazy(rb"[;#]")  # ends a list of names without brackets
_MOST_MEANT = 3  # files that one import may mean; if there are more, it means none of them


class Import(NamedTuple):
    module: str  # with its dots: "", "a.b", "..a"; of `import a.b` it is "a.b"
    names: tuple[tuple[str, str], ...]  # (imported, called) of `from module import ...`; none of `import module`
    outermost: bool  # in the first column: it runs whenever the file does
    offset: int


def imports(text: bytes) -> Iterator[Import]:
    """All texts that look like an import statement."""
    if b"\r" in text:  # no offset changes
        text = text.replace(b"\\\r\n", b" \\\n").replace(b"\r\n", b" \n").replace(b"\r", b"\n")
    after = 0  # where the search goes on
    while match := IMPORTED.search(text, after):
        start, after = match.span()
        begin = text.rfind(b"\n", 0, start) + 1
        while begin > 1 and text[begin - 2 : begin - 1] == b"\\":  # from a \ import b
            begin = text.rfind(b"\n", 0, begin - 1) + 1
        before = text[begin:start].removeprefix(b"\xef\xbb\xbf").replace(b"\\\n", b" ")
        origin = _FROM.search(before)
        if origin is None and not _PLAIN.search(before):
            continue
        outermost = origin.start() == 0 and before.startswith(b"from") if origin else not before
        listed, length = _listed(match[0][len(b"import") :])
        after = start + len(b"import") + length
        named = [pair for part in listed if (pair := _called(part))]
        if origin:
            module = origin[1].decode("utf-8", "replace").replace(" ", "").replace("\t", "")
            yield Import(module, tuple(named), outermost, start)
        else:
            for pair in named:
                yield Import(pair[0], (), outermost, start)


def imports_name(data: bytes, path: str, name: str) -> bool:
    """Whether a text imports a name of the file at a path, or the file itself and names it there."""
    stem = module_of(path)
    if name.encode() not in data or stem.rpartition("/")[2].encode() not in data:
        return False
    for found in _statements(data):
        module = found.module.lstrip(".").replace(".", "/")
        named = {imported for imported, _ in found.names}
        if named & {name, "*"} and module and f"/{stem}".endswith(f"/{module}"):
            return True
        whole = {module, *(f"{module}/{one}".lstrip("/") for one in named)}
        if any(one and f"/{stem}".endswith(f"/{one}") for one in whole):
            if f"{stem.rpartition('/')[2]}.{name}".encode() in data:
                return True
    return False


@lru_cache(maxsize=16)
def _statements(data: bytes) -> tuple[Import, ...]:
    """The imports of a text. Several questions in a row are about one text."""
    return tuple(imports(data))


def starred(files: Iterable[Iterable[Import]]) -> tuple[str, ...]:
    """The last words of the modules of which some file imports all names."""
    statements = (statement for file in files for statement in file if any(name == "*" for name, _ in statement.names))
    return tuple(sorted({statement.module.rpartition(".")[2] for statement in statements}))


def borrowed(files: Iterable[Iterable[Import]]) -> tuple[str, ...]:
    """Names with an underscore that files import: such a name is not the matter of its own file alone."""
    names = {name for file in files for statement in file for name, _ in statement.names}
    return tuple(sorted(name for name in names if name.startswith("_") and not name.startswith("__")))


def lines_of_cells(notebook: bytes, end: bytes = b"\n") -> bytes:
    """The bytes of a notebook with each line of a cell in a line of its own, so that `imports` finds imports in it, however the
    JSON is laid out. `end`: what is written behind a line that the file does not have."""
    pairs = notebook.replace(b"\\\\", b"\0")  # first, as the n of `\\\\n` belongs to no escape
    return pairs.replace(b'\\"', b"'").replace(b"\\n", end).replace(b'"', end).replace(b"\0", b"\\")


def _listed(text: bytes) -> tuple[list[bytes], int]:
    """The parts of a list of names, and its length. A list without brackets ends before `;`, where another import may follow; a
    comment belongs to it."""
    length = len(text)
    if not text.lstrip(b" \t\\\n").startswith(b"(") and (end := _END.search(text)):
        text, length = text[: end.start()], end.start() if end[0] == b";" else length
    return _NOISE.sub(b" ", text).split(b","), length


def _called(part: bytes) -> tuple[str, str] | None:
    """(imported, called) of one part of an import: `a as b`."""
    words = part.decode("utf-8", "replace").split()
    if not words or words[0] != "*" and not words[0].replace(".", "_").isidentifier():
        return None
    return words[0], words[2] if len(words) > 2 and words[1] == "as" else words[0]


def modules_by_name(statements: Iterable[Import]) -> dict[str, list[str]]:
    """The modules from which names are imported, by what the names are called here; "*" of a star."""
    modules: dict[str, list[str]] = {}
    for statement in statements:
        for _, called in statement.names:
            modules.setdefault(called, []).append(statement.module)
    return modules


class Projects:
    """Keeps the project that a run asked about: most questions are about the same files, and one scan of them is enough."""

    def __init__(self) -> None:
        self._paths = frozenset[str]()
        self._project: Project | None = None

    def of(self, paths: Collection[str], read: Callable[[str], list[Import]]) -> Project:
        """`read`: what a file imports. It is the same whoever asks, as no file changes during a run."""
        asked = frozenset(paths)
        if self._project is None or asked != self._paths:
            self._paths, self._project = asked, Project(paths, read)
        return self._project


class Project:
    """The Python files of a project by the names under which they are imported."""

    def __init__(self, paths: Iterable[str], read: Callable[[str], list[Import]]):
        self.read = read
        ordered = sorted(paths)
        self._modules = {module_of(path): path for path in ordered}  # a package hides a module of its name
        # `train.py` beside `train/__init__.py`: a program that nobody imports
        self._hidden = {module: path for path in ordered if self._modules[module := module_of(path)] != path}
        self._imported: dict[str, set[str]] = {}
        self._meant: dict[tuple[str, str], list[str]] = {}
        self._handed: dict[tuple[str, str], set[str]] = {}
        self._called: dict[str, dict[str, list[str]]] = {}
        self._ends: dict[str, list[str]] = {}
        for module in sorted(self._modules):
            words = module.split("/")
            for index in range(len(words)):
                self._ends.setdefault("/".join(words[index:]), []).append(module)

    def files(self, path: str) -> set[str]:
        """The files that a file imports, and those from which they import the same names."""
        if path not in self._imported:
            self._imported[path] = self.meant(path, self.read(path))
        return self._imported[path]

    def meant(self, path: str, statements: Iterable[Import]) -> set[str]:
        """The files that statements in a file import."""
        files: set[str] = set()
        for statement in statements:
            joint = "" if statement.module.endswith(".") else "."
            for file in self.named(path, statement.module):
                # `import module` counts for all that the module imports with a star
                names = [name for name, _ in statement.names] or ["*"]
                files.update((file,), *(self.behind(file, name) for name in names))
            for name, _ in statement.names:
                files.update(self.named(path, f"{statement.module}{joint}{name}"))
        return files - {path}

    def called(self, name: str) -> list[str]:
        """The files with this name: "train.py"."""
        ends = self._ends.get(name.removesuffix(".py"), ())
        paths = (path for module in ends for path in (self._modules[module], self._hidden.get(module, "")))
        return [path for path in paths if path.endswith(name)]

    def below(self, name: str) -> list[str]:
        """The files of a package. `name`: with a dot at its end, "a.b."."""
        folder = name.replace(".", "/")
        modules = (*self._modules.items(), *self._hidden.items())
        return [path for module, path in modules if module.startswith(folder)]

    def behind(self, path: str, name: str) -> set[str]:
        """The file, and all files from which it imports a name, step by step: `from .trainer import Trainer` in a package."""
        sources = self._handed.get((path, name))
        if sources is None:
            sources = self._handed[path, name] = reached([path], lambda file: self._sources(file, name))
        return sources

    def _sources(self, path: str, name: str) -> Iterator[str]:
        called = self._called.get(path)
        if called is None:
            called = self._called[path] = modules_by_name(self.read(path))
        for module in (*called.get(name, ()), *called.get("*", ())):
            yield from self.named(path, module)

    def named(self, path: str, name: str) -> list[str]:
        """The files that the name of a module may mean in a file: the nearest, or else those whose path ends in the name."""
        key = (path.rpartition("/")[0], name)
        paths = self._meant.get(key)
        if paths is None:
            paths = self._meant[key] = self._search(path, name)
        return paths

    def _search(self, path: str, name: str) -> list[str]:
        if near := self.nearest(path, name):
            return [near]
        words = name.split(".")
        if not words[0] or words[0] in sys.stdlib_module_names:
            return []
        ends = self._ends.get("/".join(words), ())
        if words[0] in hints("library-under-its-own-name"):
            ends = [module for module in ends if not self._is_inside(module, len(words))]
        return [self._modules[module] for module in ends] if len(ends) <= _MOST_MEANT else []

    def _is_inside(self, module: str, count: int) -> bool:
        """Whether the folder above the last words of a module is a package itself: `patches/diffusers` changes the library."""
        above = "/".join(module.split("/")[:-count])
        return above in self._modules and self._modules[above].endswith("/__init__.py")

    def nearest(self, path: str, name: str) -> str | None:
        """The file that the name of a module means, in the folder of `path` or in one above. A relative name counts from the
        folder of `path`."""
        bare = name.lstrip(".")
        level, words, folder = len(name) - len(bare), bare.split(".") if bare else [], path.split("/")[:-1]
        sizes = [len(folder) - level + 1] if level else range(len(folder), -1, -1)
        stems = ("/".join([*folder[:size], *words]) for size in sizes if size >= 0)
        return next((file for stem in stems if (file := self._modules.get(stem))), None)
