"""Says whether another Python file means a certain function or class where it contains its name.

It does not if the file defines the name itself, or imports it from elsewhere. It does not count either if the file only imports
the name: a file that takes it from there contains the name as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cached_property

from porter.project.imports import Project
from porter.python.evidence import call_name
from porter.python.graphs import reached
from porter.regex import lazy
from porter.rulebook.table import hint

# imports and `__all__`, in which a name is not used
HANDED_ON = lazy(
    rb"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|(?:[^\n\\;]|\\\r?\n)*)|^__all__[ \t]*\+?=[ \t]*(?:\[[^\]]*\]|\([^)]*\))",
    re.MULTILINE,
)

_PAGES = (".md", ".rst")
# signs right before and behind a name that is no mere word
_BEFORE = (b"`", b".", b'"', b"'", b"=")
_BEHIND = (b"`", b"(", b'"', b"'", b"=")
_OF_CODE = (b"import ", b"python", b" --", b"=")
_HOLDER = lazy(rb"((?:\w+[ \t]*\.[ \t]*)*\w*)[ \t]*\.[ \t]*\Z")  # what a name is asked of; b"" for an expression
_ALIAS = lazy(rb"(?m)^[ \t]*import\b[^\n]*\bas[ \t]+(\w+)")
_NEAR = 120  # bytes
_KEEPS_NOTHING = hint("decorator-that-keeps-nothing")
_SETTING = lazy(rb"[ \t]*(?:-[ \t]+)?[\w.-]+[ \t]*:[ \t]")


class MeantNames:
    """`paths`: the Python files of a project. `text`: gives the text of a file."""

    def __init__(self, paths: Iterable[str], text: Callable[[str], bytes], project: Project):
        self._paths, self._text, self._project, self._read = tuple(paths), text, project, project.read
        self._rest: dict[str, bytes] = {}
        self._behind: dict[str, set[str]] = {}

    @cached_property
    def _words(self) -> frozenset[str]:
        """The words with which an import of a file of the project may begin."""
        return frozenset(word.removesuffix(".py") for path in self._paths for word in path.split("/"))

    def is_own(self, module: str) -> bool:
        """Whether a module belongs to the project, by its first word."""
        return module.partition(".")[0] in self._words

    def _imports(self, path: str, home: str) -> bool:
        """Whether a file imports another, directly or through others. Mostly it does so directly."""
        if home in self._project.files(path):
            return True
        if path not in self._behind:
            self._behind[path] = reached([path], self._project.files)
        return home in self._behind[path]

    def uses(self, name: str, path: str, home: str) -> bool:
        """Whether the file `path`, which contains a name, uses what the file `home` defines under it, as far as can be seen."""
        pairs = [
            (s.module, imported) for s in self._read(path) for imported, called in s.names if name in (imported, called)
        ]
        renamed = {s.module for s in self._read(path) for imported, called in s.names if imported == name != called}
        if renamed and not all(self._is_another(module, name, path, home) for module in renamed):
            return True  # it is used under another name
        if not pairs and not self._defines(path, name):
            # a file that does not import `home` may have the name in a string, for a registry
            says, quotes = self._says(path, name) and self._may_reach(path, name), self._quotes(path, name)
            return says if says is quotes or self._imports(path, home) else quotes
        # `from a import B as C` makes C the name of something that is no C where it comes from
        others = all(imported != name or self._is_another(module, name, path, home) for module, imported in pairs)
        return self._says(path, name, b"." if others else b"")

    def _is_another(self, module: str, name: str, path: str, home: str) -> bool:
        """Whether a name that is imported from a module is not the one that `home` defines."""
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

    def _may_reach(self, path: str, name: str) -> bool:
        """Whether a file that does not import a name may mean one of another file where it says it: it imports all names of some
        module, or asks something that it imports. `rows.gather()` is a method, whatever `rows` is."""
        bound = {called for s in self._read(path) for _, called in s.names or (("", s.module.partition(".")[0]),)}
        bound |= {alias.decode() for alias in _ALIAS.findall(self._text(path))}
        rest, whole = self._rest[path], whole_word(name.encode())
        for match in whole.finditer(rest):
            holder = _HOLDER.search(rest, max(0, match.start() - _NEAR), match.start())
            if ("*" if holder is None else holder[1].decode().partition(".")[0].strip()) in bound:
                return True
        return False

    def _says(self, path: str, name: str, before: bytes = b"") -> bool:
        """Whether a file uses a name outside of imports and comments. `before`: the text right before the name."""
        if path not in self._rest:
            self._rest[path] = HANDED_ON.sub(b"", self._text(path))
        rest, whole = self._rest[path], whole_word(name.encode())
        return any(
            rest.endswith(before, 0, match.start()) and not is_comment(rest, match.start())
            for match in whole.finditer(rest)
        )


def is_comment(text: bytes, offset: int) -> bool:
    """Whether the line of an offset is a comment."""
    return text[text.rfind(b"\n", 0, offset) + 1 : offset].lstrip(b" \t").startswith(b"#")


def is_in_prose(path: str, text: bytes, start: int, end: int) -> bool:
    """Whether a name stands in a sentence or a table of a page, and not in a piece of code, a command or a setting."""
    if not path.endswith(_PAGES) or text[start - 1 : start] in _BEFORE or text[end : end + 1] in _BEHIND:
        return False
    line = text[text.rfind(b"\n", 0, start) + 1 : text.find(b"\n", end) % (len(text) + 1)]
    return not any(mark in line for mark in _OF_CODE) and _SETTING.match(line) is None


def is_handed_on(node: ast.AST, keeps: Callable[[ast.expr], bool] = lambda mark: False) -> bool:
    """Whether a function or class has a decorator that may hand it on, as one of a registry does. `keeps`: whether a decorator is
    known to hand nothing on."""
    marks = getattr(node, "decorator_list", ())
    return not all(_KEEPS_NOTHING.search(call_name(getattr(mark, "func", mark))) or keeps(mark) for mark in marks)


def whole_word(word: bytes) -> re.Pattern[bytes]:
    """The pattern of a whole word. It begins with plain letters, as that takes a tenth of the time."""
    return re.compile(rb"%s\b(?<=\b%s)" % (word, word))


def is_private(name: str) -> bool:
    """Whether a name is for its own package alone."""
    return name.startswith("_") and not name.endswith("__")
