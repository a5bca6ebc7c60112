"""Finds packages that files import and whose folder in the project is empty.

The folder is a submodule that was not checked out, or a list or a README installs it. Nobody can see whether such a package has
CUDA kernels.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from porter.engine.facts import Absent
from porter.files.kinds import SHELL, kind_of
from porter.files.read import beginning
from porter.files.witness import ask
from porter.project.imports import Project
from porter.regex import lazy
from porter.rulebook.table import load, package_row

LIMIT = 1_000_000  # bytes of a file that are read
# a section of .gitmodules, and a line in it
_SECTION = lazy(rb"^[ \t]*\[submodule\b[^\n]*\n((?:(?![ \t]*\[)[^\n]*(?:\n|\Z))*)", re.MULTILINE)
_KEY = lazy(rb"^[ \t]*(path|url)[ \t]*=[ \t]*([^\n]*?)[ \t\r]*$", re.MULTILINE)  # path and address of a submodule
# a folder that a list asks for; without `./` or `-e` it may be anything
_LISTED = lazy(
    rb"^[ \t]*(?:-[ \t]+)?(?:(?:-e|--editable)[ \t=]+(?:\./)?|\./)([\w.-][\w./-]*?)/?[ \t\r]*$", re.MULTILINE
)
# a folder that a command installs
_INSTALLED = lazy(rb"pip3?[ \t]+install[ \t]+(?:-[\w-]+[ \t]+)*(?:\./)?([\w.-]+/[\w./-]*?)/?(?=[\s`\"'&;]|\Z)")
_READMES = ("README.md", "INSTALL.md", "README.rst", "Dockerfile")  # files that say what to install


def absent(
    root: Path, files: Sequence[str], lists: Iterable[str], texts: Mapping[str, bytes], project: Project
) -> list[Absent]:
    """The imported packages whose folder is empty. `lists`: files that ask for packages. `texts`: Python files that import
    anything."""
    folders = dict(_submodules(beginning(root / ".gitmodules", LIMIT) or b""))
    for path in lists:
        for match in _LISTED.finditer(beginning(root / path, LIMIT) or b""):
            folders.setdefault(_beside(path, match[1]), ())
    for path in (*_READMES, *(path for path in files if kind_of(path) == SHELL)):
        for match in _INSTALLED.finditer(beginning(root / path, LIMIT) or b""):
            folder = match[1].decode("utf-8", "replace")
            if _is_empty(
                root, folder.partition("/")[2]
            ):  # one may clone the project first: `pip install Project/ext/ops`
                folders.setdefault(folder, ())
    folders = {folder: names for folder, names in folders.items() if _is_empty(root, folder)}
    return sorted(set(_imported(folders, texts, project))) if folders else []


def _submodules(data: bytes) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(folder, (name of the repository,)) of each submodule."""
    for section in _SECTION.finditer(data):
        keys = {match[1]: match[2].decode("utf-8", "replace") for match in _KEY.finditer(section[1])}
        if path := keys.get(b"path", "").strip("/"):
            yield path, (keys.get(b"url", "").rstrip("/").rpartition("/")[2].removesuffix(".git"),)


def _beside(path: str, folder: bytes) -> str:
    return f"{path.rpartition('/')[0]}/{folder.decode('utf-8', 'replace')}".lstrip("/")


def _is_empty(root: Path, folder: str) -> bool:
    """Whether a folder does not exist, or has nothing in it."""
    if ".." in folder.split("/") or "\0" in folder:
        return False
    return bool(ask(root / folder, "empty"))


def _imported(folders: Mapping[str, tuple[str, ...]], texts: Mapping[str, bytes], project: Project) -> Iterator[Absent]:
    by_name = {
        _plain(name): folder for folder, names in folders.items() for name in (folder.rpartition("/")[2], *names)
    }
    packages = load().packages
    for path in texts:
        for statement in project.read(path):
            if statement.module.startswith("."):
                for way in beneath(path, statement.module, [called for called, _ in statement.names]):
                    if way in folders:
                        yield Absent(way.rpartition("/")[2], way, bool(folders[way]))
                continue
            module = statement.module.split(".")
            name = module[0]
            folder = by_name.get(_plain(name))
            if folder is None:
                name, folder = _through(module, [called for called, _ in statement.names], folders)
            if folder is None or name in sys.stdlib_module_names or package_row(name, packages):
                continue
            if not project.named(path, name):
                yield Absent(name, folder, bool(folders[folder]))


def beneath(path: str, module: str, names: Iterable[str]) -> Iterator[str]:
    """The folders that a relative import may lead through: a/b, a/b/c and a/b/c/x for `from .b.c import x` in a/d.py."""
    words, folders = module.lstrip("."), path.split("/")
    level = len(module) - len(words)
    if level > len(folders):
        return
    above = folders[:-level]
    parts = words.split(".") if words else []
    for size in range(1, len(parts) + 1):
        yield "/".join([*above, *parts[:size]])
    yield from ("/".join([*above, *parts, name]) for name in names)


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower()


def _through(module: Sequence[str], names: Sequence[str], folders: Iterable[str]) -> tuple[str, str | None]:
    """(module, folder) if an import leads through one of the folders: `from third_party.fast_ops import f` through the submodule
    third_party/fast_ops."""
    for words in ([*module, name] for name in names or [""]):
        for size in range(2, len(words) + 1):
            path = "/".join(words[:size])
            if folder := next((folder for folder in folders if f"/{folder}".endswith(f"/{path}")), None):
                return ".".join(words[:size]), folder
    return "", None
