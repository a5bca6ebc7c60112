"""Finds the functions, classes and calls of a Python file by a scan of its bytes. Parsing would take a hundred times as long.

Text in strings may look like a function and is taken for one. Who uses an outline parses the file in the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from porter.project.modules import IMPORTED
from porter.regex import lazy

# both begin with plain letters, as such a search takes a tenth of the time
_FUNCTION = lazy(rb"def[ \t]+(\w+)")
_CLASS = lazy(rb"class[ \t]+(\w+)[ \t]*(?:\(([^()]*))?")
_BEFORE = (b"", b"async")  # text that may stand before `def` and `class`
_LONGEST = 300  # bytes of a line before a name that are looked at
_FROM = lazy(rb"from[ \t]+[.\w]+(?=[ \t]+import)")
_WORD = lazy(rb"\w+")
# text right before a name: `def`, the receiver of a method, the target of an assignment; and `a as b` in an import
_DEFINES = lazy(rb"\bdef[ \t]+$")
_RECEIVER = lazy(rb"(\w+(?:\(\))?)?[ \t]*\.$")  # what stands before the dot of a method
_AS = lazy(rb"(?<!\w)(\w+)[ \t]+as[ \t]+(\w+)")  # `name as other`
_SET = lazy(rb"(\w+)[ \t]*=[ \t]*(?:\w+\.)*$")  # `name = ` before a call


class Defined(NamedTuple):
    """The definition of a function or a class."""

    start: int
    indent: int
    name: str
    is_class: bool


class Call(NamedTuple):
    home: str  # see Outline.home
    receiver: str  # the word before the dot: "self", "super()", "." for an expression, "" where there is no dot


class Outline:
    def __init__(self, text: bytes):
        self.text = text
        self._calls: dict[str, frozenset[Call]] = {}
        self._made: dict[str, frozenset[str]] = {}

    @cached_property
    def defined(self) -> list[Defined]:
        """All definitions, in the order of the file."""
        functions = ((m, False) for m in _FUNCTION.finditer(self.text))
        classes = ((m, True) for m in _CLASS.finditer(self.text))
        definitions = []
        for match, is_class in sorted((*functions, *classes), key=lambda item: item[0].start()):
            before = self.text[self.text.rfind(b"\n", 0, match.start()) + 1 : match.start()]
            if before.strip() in _BEFORE:
                indent = len(before) - len(before.lstrip())
                definitions.append(Defined(match.start(), indent, match[1].decode(), is_class))
        return definitions

    @cached_property
    def _starts(self) -> list[int]:
        return [d.start for d in self.defined]

    def home(self, offset: int) -> str | None:
        """The top-level function, or the method as "Class.method", around a place. "" for the top level itself; None for the body
        of a class."""
        begin = self.text.rfind(b"\n", 0, offset) + 1
        line = self.text[begin:offset]
        limit, enclosing = len(line) - len(line.lstrip()), []
        for index in range(bisect_right(self._starts, offset) - 1, -1, -1):
            definition = self.defined[index]
            if definition.indent < limit:
                enclosing.append(definition)
                limit = definition.indent
                if not limit:
                    break
        if not enclosing:
            return ""
        top = enclosing[-1]
        if not top.is_class:
            return top.name
        return f"{top.name}.{enclosing[-2].name}" if len(enclosing) > 1 and not enclosing[-2].is_class else None

    @cached_property
    def methods(self) -> dict[str, frozenset[str]]:
        """By name of a method, the top-level classes that define it; a function of the file is under ""."""
        top, methods = "", dict[str, set[str]]()
        for definition in self.defined:
            if not definition.indent:
                top = definition.name if definition.is_class else ""
            if not definition.is_class:
                methods.setdefault(definition.name, set()).add(top)
        return {name: frozenset(owners) for name, owners in methods.items()}

    def has_forward(self, name: str) -> bool:
        """Whether a top-level class defines `forward`."""
        return name in self.methods.get("forward", ())

    @cached_property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The top-level classes, each with the last words of its bases."""
        classes = {}
        for match in _CLASS.finditer(self.text):
            if match.start() == 0 or self.text[match.start() - 1] == 10:
                bases = (_last_word(part) for part in (match[2] or b"").split(b","))
                classes[match[1].decode()] = tuple(base for base in bases if base)
        return classes

    @cached_property
    def _imports(self) -> bytes:
        return b"\n".join((*IMPORTED.findall(self.text), *_FROM.findall(self.text)))

    @cached_property
    def imported(self) -> frozenset[str]:
        """All words in the imports of the file."""
        return frozenset(word.decode("utf-8", "replace") for word in _WORD.findall(self._imports))

    @cached_property
    def _others(self) -> dict[str, set[str]]:
        others: dict[str, set[str]] = {}
        for name, other in _AS.findall(self._imports) if b" as " in self._imports else ():
            others.setdefault(name.decode("utf-8", "replace"), set()).add(other.decode("utf-8", "replace"))
        return others

    def calls(self, name: str) -> frozenset[Call]:
        """Possible calls of a function or method with this name."""
        if name not in self._calls:
            calls = set()
            for offset in chain.from_iterable(map(self._places, self._called(name))):
                before = self.text[self._line_start(offset) : offset]
                if not _DEFINES.search(before) and (home := self.home(offset)) is not None:
                    receiver = _RECEIVER.search(before)
                    calls.add(Call(home, (receiver[1] or b".").decode("utf-8", "replace") if receiver else ""))
            self._calls[name] = frozenset(calls)
        return self._calls[name]

    def _line_start(self, offset: int) -> int:
        """The begin of the line of a place, but at most _LONGEST bytes before it."""
        return max(self.text.rfind(b"\n", max(offset - _LONGEST, 0), offset) + 1, offset - _LONGEST, 0)

    def made(self, name: str) -> frozenset[str]:
        """The last words of names that are set to an object of a class: `net` of `self.net = Net()`."""
        if name not in self._made:
            places = chain.from_iterable(map(self._places, self._called(name)))
            before = (self.text[self._line_start(offset) : offset] for offset in places)
            self._made[name] = frozenset(match[1].decode() for text in before if (match := _SET.search(text)))
        return self._made[name]

    def _called(self, name: str) -> list[str]:
        """The names that the file has for a name: `other` of `from x import name as other`."""
        return [name, *self._others.get(name, ())]

    def _places(self, name: str) -> Iterator[int]:
        word = name.encode() + b"("
        offset = self.text.find(word)
        while offset >= 0:
            before = self.text[offset - 1 : offset] if offset else b" "
            if not before.isalnum() and before != b"_":
                yield offset
            offset = self.text.find(word, offset + 1)


def _last_word(text: bytes) -> str:
    if b"=" in text:
        return ""
    words = _WORD.findall(text.partition(b"[")[0])
    return words[-1].decode() if words else ""
