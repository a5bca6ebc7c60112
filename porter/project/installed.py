"""Says whether others may install a file, by the files that describe packages: `setup.py` and its kind.

A package for the programs beside it alone is none for others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from porter.files.paths import SIDE, bytes_of, folder_of, is_test
from porter.project.copies import is_of_another
from porter.project.imports import imports
from porter.regex import lazy, rare

# files that describe a package; text in them that does, its name, its modules; text that shows that it is published
_PACKAGING = ("setup.py", "pyproject.toml", "setup.cfg")
# the file makes a package that can be installed
_INSTALLS = rare(rb"\bsetup\s*\(|^\[(?:project|tool\.poetry|metadata)\]", re.MULTILINE)
_NAME = lazy(rb"\bname[ \t]*=[ \t]*[\"']([\w.-]+)[\"']")  # the name of a package
_PACKAGES = rare(rb"\b(?:packages|py_modules|package_dir)\s*=")  # the file lists the modules to install
_PUBLISHED = lazy(rb"\bclassifiers\b|Programming Language ::")  # the package is meant for other users


class Installed:
    """`files`: those of the project that may say something of a package; `sources`: its Python files."""

    def __init__(self, files: Sequence[str], sources: Sequence[str], text: Callable[[str], bytes]) -> None:
        self._files, self._sources, self._text = files, sources, text
        self._known_files = frozenset(sources)
        self._lists = [path for path in files if path.rpartition("/")[2] in _PACKAGING]
        self._programs: dict[tuple[str, str], bool] = {}  # of a folder and a package in it

    def has(self, home: str) -> bool:
        """Whether others may install the package of a file, and use any part of it."""
        lists = [p for p, top in self._installers.items() if home.startswith(top) and not self._leaves_out(p, home)]
        return bool(lists) and not all(self._is_for_programs(p, home) for p in lists)

    @cached_property
    def _installers(self) -> dict[str, str]:
        """The files that install a package, each with the folder that it describes."""
        return {path: self._described(path) for path in self._lists if self._installs(path)}

    def _installs(self, path: str) -> bool:
        """Whether a file describes a package with Python files. Some setup.py files only build an extension."""
        text = self._text(path)
        return _INSTALLS.search(text) is not None and (b"ext_modules" not in text or bool(_PACKAGES.search(text)))

    def _leaves_out(self, path: str, home: str) -> bool:
        """Whether a setup.py installs the packages that it finds, and a file lies in none: in a folder without `__init__.py`, or
        below one that the call does not name."""
        text = self._text(path)
        if b"find_packages(" not in text or b"py_modules" in text:
            return False
        folder, top = folder_of(home), self._described(path)
        if f"{folder}__init__.py" not in self._known_files:
            return True
        while folder and f"{folder}__init__.py" in self._known_files:
            folder = folder_of(folder[:-1])
        around = folder.removeprefix(top).rstrip("/") if folder.startswith(top) else ""
        return bool(around) and bytes_of(around) not in text

    def _is_for_programs(self, setup: str, home: str) -> bool:
        """Whether a package is installed only for the programs beside it, and not offered to others."""
        folder = self._installers[setup]
        package = home.removeprefix(folder).removeprefix("src/").partition("/")[0]
        key = (folder, package)
        if key not in self._programs:
            self._programs[key] = self._has_programs(folder, package) and not self._is_offered(setup, package)
        return self._programs[key]

    def _described(self, setup: str) -> str:
        """The folder whose packages a file describes: above its own where that is a package."""
        folder = folder_of(setup)
        return folder if f"{folder}__init__.py" not in self._known_files else folder_of(folder[:-1])

    def _has_programs(self, folder: str, package: str) -> bool:
        word, inside = bytes_of(package), (f"{folder}{package}/", f"{folder}src/{package}/")
        return any(
            path.startswith(folder) and not path.startswith(inside) and not is_test(path) and not SIDE.search(path)
            and word in (text := self._text(path)) and b"__main__" in text
            and any(statement.module.partition(".")[0] == package for statement in imports(text))
            for path in self._sources
        )  # fmt: skip

    def _is_offered(self, setup: str, package: str) -> bool:
        """Whether a package is published, or a text tells others to install it."""
        lists = [self._text(path) for path in self._lists if folder_of(path) == folder_of(setup)]
        names = {package.encode(), *(name for text in lists for name in _NAME.findall(text))}
        asked = b"|".join(re.escape(name).replace(b"_", b"[-_]") for name in sorted(names))
        installs = re.compile(rb"(?i)pip3?[ \t]+install\b[^\n]*(?:\b(?:%s)\b|git\+)" % asked)
        prose = [path for path in self._files if path.endswith((".md", ".rst"))]
        if any(map(_PUBLISHED.search, lists)) and not is_of_another(lists, map(self._text, prose)):
            return True  # mostly without a look at the texts
        return any(b"install" in text and installs.search(text) for text in map(self._text, prose))
