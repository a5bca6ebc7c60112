"""Whether the name of a function or class, where another Python file says it, means the one that is asked about.

It does not where the file defines the name itself or imports it from elsewhere, and where it only imports it, for nobody
or for others: those that take it from there say the name as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from porter.project.imports import Project
from porter.python.graphs import reached
from porter.regex import lazy

_HANDED_ON = lazy(
    rb"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|(?:[^\n\\;]|\\\r?\n)*)|^__all__[ \t]*\+?=[ \t]*(?:\[[^\]]*\]|\([^)]*\))",
    re.MULTILINE,
)


class MeantNames:
    """`paths`: the Python files of a project; `text`: of one of them."""

    def __init__(self, paths: Iterable[str], text: Callable[[str], bytes], project: Project):
        self._paths, self._text, self._project, self._read = tuple(paths), text, project, project.read
        self._rest: dict[str, bytes] = {}
        self._leading: dict[str, set[str]] = {}

    @cached_property
    def _words(self) -> frozenset[str]:
        """What an import may begin with, for it to mean a file of the project."""
        return frozenset(word.removesuffix(".py") for path in self._paths for word in path.split("/"))

    def takers(self, home: str) -> Sequence[str]:
        """The files that import one."""
        return self._importers.get(home, ())

    def is_own(self, module: str) -> bool:
        """Whether a module is one of the project, as far as its first word says."""
        return module.partition(".")[0] in self._words

    def _leads_to(self, home: str) -> set[str]:
        """All files that import one, or what imports it."""
        known = self._leading.get(home)
        if known is None:
            known = self._leading[home] = reached([home], lambda file: self._importers.get(file, ()))
        return known

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._paths:
            for file in self._project.files(path):
                found.setdefault(file, []).append(path)
        return found

    def uses(self, name: str, path: str, home: str) -> bool:
        """Whether a file that says a name uses what `home` defines, as far as can be seen."""
        sources = [s.module for s in self._read(path) if any(name in pair for pair in s.names)]
        if any(imported == name != called for s in self._read(path) for imported, called in s.names):
            return True  # under another name
        if not sources and not self._defines(path, name):
            # of a file that does not import `home`, a text may mean the name, which a registry looks up
            return self._says(path, name) if path in self._leads_to(home) else self._quotes(path, name)
        others = all(self._is_another(module, name, path, home) for module in sources)
        return self._says(path, name, b"." if others else b"")

    def _is_another(self, module: str, name: str, path: str, home: str) -> bool:
        """Whether a name that is imported from a module is none of `home`."""
        files = {
            file for near in self._project.named(path, module) for file in {near, *self._project.behind(near, name)}
        }
        if not files:
            return module[:1] not in ("", ".") and not self.is_own(module)
        return home not in files and any(self._defines(file, name) for file in files)

    def _defines(self, path: str, name: str) -> bool:
        word = re.escape(name.encode())
        return name.encode() in self._text(path) and bool(
            re.search(rb"^(?:class|def|async[ \t]+def)[ \t]+%s\b" % word, self._text(path), re.MULTILINE)
        )

    def _quotes(self, path: str, name: str) -> bool:
        return re.search(rb"[\"'](?:[\w./:-]*[./:])?%s[\"']" % re.escape(name.encode()), self._text(path)) is not None

    def _says(self, path: str, name: str, before: bytes = b"") -> bool:
        """Whether a file says a name in code that does not hand it on; `before`: right behind this sign."""
        if path not in self._rest:
            self._rest[path] = _HANDED_ON.sub(b"", self._text(path))
        rest, whole = self._rest[path], whole_word(name.encode())
        return any(
            rest.endswith(before, 0, match.start()) and not is_comment(rest, match.start())
            for match in whole.finditer(rest)
        )


def is_comment(text: bytes, offset: int) -> bool:
    return text[text.rfind(b"\n", 0, offset) + 1 : offset].lstrip(b" \t").startswith(b"#")


def whole_word(word: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"%s\b(?<=\b%s)" % (word, word))  # plain letters first: found in a tenth of the time
