"""The functions and classes of a Python file by a scan of its bytes, which costs a hundredth of parsing it.

What looks like one in a text is taken for one: whoever builds on it parses the file in the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from porter.project.modules import IMPORTED
from porter.regex import lazy

# both begin with plain letters: a search for them takes a tenth of the time
_FUNCTION = lazy(rb"def[ \t]+(\w+)")
_CLASS = lazy(rb"class[ \t]+(\w+)[ \t]*(?:\(([^()]*))?")
_BEFORE = (b"", b"async")
_LONGEST = 300  # bytes of a line before a name
_FROM = lazy(rb"from[ \t]+[.\w]+(?=[ \t]+import)")
_WORD = lazy(rb"\w+")
_DEFINES = lazy(rb"\bdef[ \t]+$")
_RECEIVER = lazy(rb"(\w+(?:\(\))?)?[ \t]*\.$")
_AS = lazy(rb"(?<!\w)(\w+)[ \t]+as[ \t]+(\w+)")
_SET = lazy(rb"(\w+)[ \t]*=[ \t]*(?:\w+\.)*$")


class Defined(NamedTuple):
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
        """In the order of lines."""
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
        """The function of the module, or the method as "Class.method", that holds a place; "" for the module itself, None
        for the body of a class."""
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
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The classes of the module, with the last words of what they derive from."""
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
        """All words of what the file imports."""
        return frozenset(word.decode("utf-8", "replace") for word in _WORD.findall(self._imports))

    @cached_property
    def _others(self) -> dict[str, set[str]]:
        others: dict[str, set[str]] = {}
        for name, other in _AS.findall(self._imports) if b" as " in self._imports else ():
            others.setdefault(name.decode("utf-8", "replace"), set()).add(other.decode("utf-8", "replace"))
        return others

    def calls(self, name: str) -> frozenset[Call]:
        """What may be calls of a function or a method of this name."""
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
        """Where the line of a place begins, or what of it is looked at."""
        return max(self.text.rfind(b"\n", max(offset - _LONGEST, 0), offset) + 1, offset - _LONGEST, 0)

    def made(self, name: str) -> frozenset[str]:
        """The last words of what is set to an object of a class."""
        if name not in self._made:
            places = chain.from_iterable(map(self._places, self._called(name)))
            before = (self.text[self._line_start(offset) : offset] for offset in places)
            self._made[name] = frozenset(match[1].decode() for text in before if (match := _SET.search(text)))
        return self._made[name]

    def _called(self, name: str) -> list[str]:
        """What the file calls a name: `from x import name as other`."""
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
