"""Finds bystanders: files that import a package only for names, base classes and decorators. One file, the speaker, reports it
for all of them.

The speaker is the first file of the same program, by path, that uses a part of the package which needs a device. If the program
has none, it is the first such file of the project; if that has none, the first bystander.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from porter.engine.bystanders import Bystanders
from porter.engine.suppress import SPOKEN
from porter.files.paths import folder_of, is_test
from porter.project.imports import Import
from porter.python.host_uses import only_on_host
from porter.python.trees import Parse
from porter.rulebook.table import Package, load

Read = Callable[[str], list[Import]]


class Importers:
    """The files that import packages with a part that needs no device, or packages that can be installed anywhere.

    `texts`: the Python files that import anything. `read`: their imports. `is_own`: whether the project provides a package.
    """

    def __init__(self, texts: Mapping[str, bytes], read: Read, is_own: Callable[[str, str], bool], parse: Parse):
        self._texts, self._read, self._parse = texts, read, parse
        self._rows = load().packages
        known = {name: row for name, row in self._rows.items() if row.on_host is not None or row.anywhere}
        self._imports: dict[str, dict[str, list[Import]]] = {name: {} for name in known}
        tops: dict[str, list[str]] = {}
        for name in known:
            tops.setdefault(name.partition(".")[0], []).append(name)
        for path in texts:
            for statement in read(path):
                top = statement.module.partition(".")[0]
                for name in tops.get(top, ()):
                    if not is_own(top, path):
                        self._imports[name].setdefault(path, []).append(statement)
        self._roles: dict[str, dict[str, bool | None]] = {}

    def _roles_of(self, name: str) -> dict[str, bool | None]:
        """Whether each file uses only parts of a package that need no device; None where it uses nothing."""
        if name not in self._roles:
            self._roles[name] = dict(self._weighed(name, self._rows[name]))
        return self._roles[name]

    def _weighed(self, name: str, row: Package) -> Iterator[tuple[str, bool | None]]:
        for path in sorted(self._imports[name]):
            tree, hands_on = self._parse(self._texts[path]), path.endswith("__init__.py")
            on_host = only_on_host(tree, name, self._rows, hands_on=hands_on) if tree is not None else False
            yield path, False if on_host and row.on_host is None else on_host

    def bystanders(self, lists: Iterable[str]) -> Iterator[Bystanders]:
        """The bystanders, by package and speaker. `lists`: files that ask for packages, each in the folder of a program."""
        homes = sorted({folder_of(path) for path in lists}, key=len, reverse=True)

        def home(path: str) -> str:
            return next((folder for folder in homes if path.startswith(folder)), "")

        for name in sorted(name for name in self._imports if self._rows[name].on_host is not None):
            roles = self._roles_of(name)
            beside = [path for path, on_host in roles.items() if on_host and self._runs(name, path)]
            needing = [path for path, on_host in roles.items() if on_host is False]
            first = self._speaker(name, needing or beside)
            told: dict[str, list[str]] = {}
            for path in beside if first else ():
                near = self._speaker(name, [other for other in needing if home(other) == home(path)])
                told.setdefault(near or first, []).append(path)
            for speaker, paths in sorted(told.items()):
                yield Bystanders(name, speaker, tuple(path for path in paths if path != speaker))

    def _speaker(self, name: str, paths: Iterable[str]) -> str:
        """The file that speaks: not a test if possible, and one that always imports the package if possible."""
        paths = [path for path in paths if self._runs(name, path) and SPOKEN not in self._texts[path]]
        return min(paths, key=lambda path: (is_test(path), not self._outermost(name, path), path), default="")

    def _outermost(self, name: str, path: str) -> bool:
        return any(statement.outermost for statement in self._imports[name][path])

    def _runs(self, name: str, path: str) -> bool:
        """Whether a file imports a package when it runs, and not only for type checkers."""
        return self._outermost(name, path) or b"TYPE_CHECKING" not in self._texts[path]

    def unneeded(self, lists: Mapping[str, bytes], in_notebook: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """(package, list) of packages that can be installed anywhere, if no program that the list is for needs them on a device.

        A list is for the programs below its folder, if any of them uses torch, else for all. `lists`: texts in lower case.
        """
        for name in sorted(name for name, imports in self._imports.items() if imports):
            words = [listed.lower().encode() for listed in self._rows[name].anywhere]
            asking = [path for path, data in sorted(lists.items()) if any(word in data for word in words)]
            if not asking:
                continue
            needing = [path for path, on_host in self._roles_of(name).items() if on_host is False]
            idle = [path for path in asking if not _any_below(self._scope(path), needing)]
            if idle and not in_notebook(name):
                yield from ((name, path) for path in idle)

    def _scope(self, path: str) -> str:
        """The folder of the programs that a list is for; "" for all."""
        folder = folder_of(path)
        torch = any(p.startswith(folder) and b"torch" in text for p, text in self._texts.items())
        return folder if torch else ""


def _any_below(folder: str, paths: list[str]) -> bool:
    return any(path.startswith(folder) for path in paths)
