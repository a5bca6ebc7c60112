"""Which files a run is about."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from porter.files.errors import FilesError, reason
from porter.files.ignore import Patterns, as_bytes, ignore_files
from porter.files.kinds import DOCKERFILE, INI, MAKEFILE, PYTHON, REQUIREMENTS, SHELL, TOML, YAML, kind_of
from porter.files.read import has_python_shebang
from porter.files.root import real_of
from porter.files.tracked import Index

VCS = frozenset({".git", ".hg", ".svn", ".bzr", "_darcs", ".jj"})
MADE = frozenset(
    [".direnv", ".eggs", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".porter", ".pytest_cache", ".ruff_cache"]
    + ["CMakeFiles", ".tox", ".venv", "__pycache__", "__pypackages__", "node_modules", "site-packages"]
)
LEFT_OUT = VCS | MADE | {"build", "dist", "third_party"}  # the last three only where they are no code of the project
# kinds of files that people write, and programs seldom
_BY_HAND = frozenset({PYTHON, SHELL, MAKEFILE, DOCKERFILE, YAML, TOML, INI, REQUIREMENTS})
# ignore files, the nearest first: what comes before a path, how much of it goes, what the file says
Chain: TypeAlias = tuple[tuple[str, int, Patterns], ...]
ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")  # what makes a directory a virtual environment, whatever its name


@dataclass(frozen=True, slots=True, order=True)
class File:
    """A file to read, or (with an `error`) a place that could not be looked at."""

    path: str  # POSIX, relative to the root; bytes that are no UTF-8 as lone surrogates
    error: str = ""  # a key of errors.MESSAGES: unreadable, outside, special
    detail: str = ""  # what the operating system said


def discover(
    paths: Sequence[str | os.PathLike[str]],
    *,
    root: str | os.PathLike[str],
    exclude: Iterable[str] = (),
    force_exclude: bool = False,
    left_out: list[str] | None = None,
    kinds: frozenset[str] = frozenset({PYTHON}),
) -> list[File]:
    """Files of these kinds below `paths`, sorted, each once.

    A directory is walked without what `LEFT_OUT`, virtual environments, `.gitignore`, `.git/info/exclude` and
    `exclude` (gitignore syntax, relative to `root`; `!name` takes back) leave out. What git tracks it does not ignore, and
    neither do we; without git nobody knows, and programs and folders of a package are taken. A file named outright
    is taken whatever it is called and whatever they say, unless `force_exclude`.
    `left_out` receives the directories that were left out for their name alone. Raises FilesError("missing").
    """
    return Walk(root, exclude, left_out, kinds=kinds).run(paths, force_exclude)


class Walk:
    def __init__(
        self,
        root: str | os.PathLike[str],
        exclude: Iterable[str] = (),
        left_out: list[str] | None = None,
        names: frozenset[str] = LEFT_OUT,
        kinds: frozenset[str] = frozenset({PYTHON}),
    ):
        self.root = os.path.realpath(root)
        self._exclude = Patterns.of_settings(exclude)
        self._names = names
        self._kinds = kinds
        self._left_out = left_out if left_out is not None else []
        self._chains: dict[str, Chain] = {}  # directory -> the ignore files in force
        self._indexes: dict[str, tuple[Index, str, int] | None] = {}  # directory -> what git tracks: `tracked`
        self._opened: set[str] = set()  # ignored directories that are looked into for what git tracks there alone
        self._files: dict[str, File] = {}
        self._links: list[str] = []

    def run(self, paths: Sequence[str | os.PathLike[str]], force_exclude: bool) -> list[File]:
        for given in paths:
            real = real_of(given)
            relative = self.relative(real)
            if relative is None:
                self._add(File(os.fspath(given).replace(os.sep, "/"), "outside"))
            elif os.path.isdir(real):
                if not (force_exclude and self.is_left_out(relative, True)):
                    self._walk(relative)
            elif not os.path.lexists(real):
                raise FilesError("missing", path=os.fspath(given))
            elif not (force_exclude and self.is_left_out(relative, False)):
                if os.path.islink(real):
                    self._add_link(relative, named=True)
                else:
                    self._add(File(relative))
        for relative in sorted(self._links):
            self._add_link(relative, named=False)
        return sorted(self._files.values())

    def _add(self, file: File) -> None:
        self._files.setdefault(file.path, file)

    def relative(self, real: str) -> str | None:
        """POSIX and below the root ("" for the root itself), or None."""
        if real == self.root:
            return ""
        head = self.root if self.root.endswith(os.sep) else self.root + os.sep
        return real[len(head) :].replace(os.sep, "/") if real.startswith(head) else None

    def absolute(self, relative: str) -> str:
        return os.path.join(self.root, *relative.split("/")) if relative else self.root

    def _add_link(self, relative: str, named: bool) -> None:
        """A symlink to a file counts for its target: inside the root, and once. Where the target is taken under its
        own name, the link is not; nor where nobody would read the target: `README.md` that leads to `guide.adoc`."""
        target = os.path.realpath(self.absolute(relative))
        inside = self.relative(target)
        if inside is None:
            if named:
                self._add(File(relative, "outside"))
        elif not os.path.isfile(target):
            if named:
                self._add(File(relative, "special"))
        elif inside not in self._files and (named or self._is_read(relative, inside)):
            self._add(File(inside))

    def _is_read(self, link: str, target: str) -> bool:
        """Whether a target that was not named is of a kind that is read. A program may have no suffix: `train.py` -> `train`."""
        kind = kind_of(target) or kind_of(link)
        return (kind_of(target) in self._kinds or kind == PYTHON) and not self.is_left_out(target, False)

    def _walk(self, start: str) -> None:
        self._opened.clear()  # what was named is taken as a whole
        parts = start.split("/")
        for depth in range(len(parts)):  # from the top down, so that no path is too deep for a recursion
            self._chain("/".join(parts[:depth]))
        stack = [start]
        while stack:
            folder = stack.pop()
            try:
                inside = self.inside(folder, start)
            except OSError as error:
                self._add(File(folder or ".", "unreadable", reason(error)))
                continue
            if inside is None:
                self._left_out.append(folder)
                continue
            entries, chain = inside
            prefix = folder + "/" if folder else ""
            for name, entry in entries.items():
                path = prefix + name
                if entry.is_dir(follow_symlinks=False):
                    if not _is_junction(entry) and not self.ignored(chain, path, name, True):
                        stack.append(path)
                elif (
                    ((wanted := kind_of(path) in self._kinds) or "." not in name)
                    and _is_file(entry)
                    and not self.ignored(chain, path, name, False)
                    and (wanted or has_python_shebang(entry.path))
                ):
                    if entry.is_symlink():
                        self._links.append(path)
                    else:
                        self._files[path] = File(path)

    def inside(self, folder: str, start: str = "") -> tuple[dict[str, os.DirEntry[str]], Chain] | None:
        """The entries of a folder, and the ignore files in force for them; None for a virtual environment below
        `start`. Raises OSError."""
        with os.scandir(self.absolute(folder)) as scan:
            entries = {entry.name: entry for entry in scan}
        if folder != start and any(name in entries for name in ENVIRONMENTS):
            return None
        return entries, self._chain(folder, entries)

    def ignored(self, chain: Chain, path: str, name: str, directory: bool) -> bool:
        key, raw = as_bytes(path), as_bytes(name)
        verdict = self._exclude.verdict(key, raw, directory)
        if verdict is not None:
            return verdict
        if directory and name in self._names and not self._is_code(path, name):
            if name not in VCS and name not in MADE:
                self._left_out.append(path)
            return True
        folder = path.rpartition("/")[0]
        hidden = folder in self._opened  # below an ignored directory no pattern is asked any more
        if not hidden:
            verdicts = (patterns.verdict(prefix + key[length:], raw, directory) for prefix, length, patterns in chain)
            hidden = next((verdict for verdict in verdicts if verdict is not None), False)
        if not hidden:
            return False
        if not self._tracked(folder, key, directory):
            # without git, nobody knows whether it tracks a folder of a package that `data/` names, or the list that `*.txt` does
            is_code = self._is_beside_programs(path) if directory else kind_of(path) in _BY_HAND
            return self._indexes[folder] is not None or not is_code
        if directory and not self._has(path, ".git"):  # a submodule begins afresh
            self._opened.add(path)
        return False

    def _is_code(self, path: str, name: str) -> bool:
        """Whether a directory with the name of what a build leaves is a part of the project all the same."""
        if name == "third_party":
            return self._has(path, "__init__.py")
        return name not in VCS and name not in MADE and self._is_of_package(path)

    def _is_of_package(self, path: str) -> bool:
        """Whether a directory inside a package holds Python files."""
        return self._has(path.rpartition("/")[0], "__init__.py") and self._has_programs(path)

    def _is_beside_programs(self, path: str) -> bool:
        """The same, also where the package has no `__init__.py`, and only folders with Python files."""
        folder = path.rpartition("/")[0]
        if not folder or self._has(folder, "__init__.py"):
            return self._is_of_package(path)
        if not self._has_programs(path):
            return False
        others = (f"{folder}/{name}" for name in os.listdir(self.absolute(folder)))  # where the walk is: it can be read
        return any(self._has_programs(other) for other in others if other != path)

    def _has_programs(self, path: str) -> bool:
        try:
            return any(kind_of(name) == PYTHON for name in os.listdir(self.absolute(path)))
        except OSError:
            return False

    def _has(self, path: str, name: str) -> bool:
        return os.path.lexists(os.path.join(self.absolute(path), name))

    def _tracked(self, folder: str, key: str, directory: bool) -> bool:
        """Whether git tracks a file that lies directly in `folder`, or anything in a directory there."""
        if folder not in self._indexes:
            self._chain(folder)
        entry = self._indexes[folder]
        if entry is None:
            return False
        index, prefix, length = entry
        return index.holds(prefix + key[length:], directory)

    def is_left_out(self, relative: str, directory: bool, start: str = "") -> bool:
        """Whether a walk from `start`, a folder above it, would not get there."""
        parts = relative.split("/") if relative else []
        for depth in range(start.count("/") + bool(start), len(parts)):
            name = parts[depth]
            folder, path = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
            is_last = depth == len(parts) - 1
            if self.ignored(self._chain(folder), path, name, directory or not is_last):
                return True
            if not is_last and any(os.path.lexists(os.path.join(self.absolute(path), x)) for x in ENVIRONMENTS):
                return True
        return False

    def _chain(self, folder: str, entries: Container[str] | None = None) -> Chain:
        """The ignore files in force for what lies directly in `folder`, nearest first. A nested repository begins
        afresh, as it does for git."""
        if folder not in self._chains:
            in_folder, top = ignore_files(self.absolute(folder), entries)
            above: Chain = ()
            length = len(as_bytes(folder)) + 1 if folder else 0
            if top:
                self._indexes[folder] = Index(self.absolute(folder)), "", length
            elif folder:
                parent = folder.rpartition("/")[0]
                above, self._indexes[folder] = self._chain(parent), self._indexes[parent]
            else:
                above = self._above()
            self._chains[folder] = tuple(("", length, patterns) for patterns in in_folder) + above
        return self._chains[folder]

    def _above(self) -> Chain:
        """The ignore files between the root and the top of the repository it lies in; none outside of a repository."""
        chain: list[tuple[str, int, Patterns]] = []
        prefix, folder = "", self.root
        while True:
            folder, name = os.path.split(folder)
            if not name:
                self._indexes[""] = None
                return ()
            prefix = as_bytes(name) + "/" + prefix
            in_folder, top = ignore_files(folder)
            chain += [(prefix, 0, patterns) for patterns in in_folder]
            if top:
                self._indexes[""] = Index(folder), prefix, 0
                return tuple(chain)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that points at itself
        return False


def _is_junction(entry: os.DirEntry[str]) -> bool:
    return getattr(entry, "is_junction", bool)()
