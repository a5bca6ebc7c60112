"""Files that import a package for names, base classes and decorators alone: one file speaks for all of them.

What has to be done about a package is said where something of it is called that needs a device. The first such file of a
program, by path, counts the bystanders; where the program has none, that of the project; and where there is none, the first
bystander.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from porter.engine.facts import Bystanders
from porter.engine.suppress import SPOKEN
from porter.files.paths import is_test
from porter.project.imports import Import
from porter.python.host_uses import only_on_host
from porter.python.trees import Parse
from porter.rulebook.table import Package, load

Read = Callable[[str], list[Import]]


class Importers:
    """Who imports the packages of which a part needs no device, and those that install anywhere.

    `texts`: the Python files that import anything; `read`: what; `is_own`: whether a file finds a package in the project.
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
        """Whether each file uses what needs no device and nothing else; None where it uses nothing."""
        if name not in self._roles:
            self._roles[name] = dict(self._weighed(name, self._rows[name]))
        return self._roles[name]

    def _weighed(self, name: str, row: Package) -> Iterator[tuple[str, bool | None]]:
        for path in sorted(self._imports[name]):
            tree, hands_on = self._parse(self._texts[path]), path.endswith("__init__.py")
            on_host = only_on_host(tree, name, self._rows, hands_on=hands_on) if tree is not None else False
            yield path, False if on_host and row.on_host is None else on_host

    def bystanders(self, lists: Iterable[str]) -> Iterator[Bystanders]:
        """`lists`: what asks for packages, in the folder of each program."""
        homes = sorted({path[: path.rfind("/") + 1] for path in lists}, key=len, reverse=True)

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
        """A program before a test, and what is imported whenever the file is before what it can do without."""
        paths = [path for path in paths if self._runs(name, path) and SPOKEN not in self._texts[path]]
        return min(paths, key=lambda path: (is_test(path), not self._outermost(name, path), path), default="")

    def _outermost(self, name: str, path: str) -> bool:
        return any(statement.outermost for statement in self._imports[name][path])

    def _runs(self, name: str, path: str) -> bool:
        """Whether it is more than a name for those who check types."""
        return self._outermost(name, path) or b"TYPE_CHECKING" not in self._texts[path]

    def unneeded(self, lists: Mapping[str, bytes], in_notebook: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """(package, list) of what installs anywhere and is imported somewhere, where no program that the list is for needs
        it on a device: those below its folder, if they are torch's, else all. `lists`: their text in lower case."""
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
        """The folder of the programs that a list is for, "" for all."""
        folder = path[: path.rfind("/") + 1]
        torch = any(p.startswith(folder) and b"torch" in text for p, text in self._texts.items())
        return folder if torch else ""


def _any_below(folder: str, paths: list[str]) -> bool:
    return any(path.startswith(folder) for path in paths)
