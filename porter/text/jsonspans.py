"""JSON with the place of every value. Takes comments and commas at the end, which settings files have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from porter.errors import Unreadable

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"', re.DOTALL)
# a bracket, or what may hold brackets that are none
_BRACKET = re.compile(rf'{_STRING.pattern}|//[^\n]*|/\*(?:.*?\*/)?|["{{}}\[\]]', re.DOTALL)
_SCALAR = re.compile(r"-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|Infinity)|true|false|null|NaN")
_CLOSED_BY = {"{": "}", "[": "]"}
_DEEPEST = 200  # the same file is read alike however many calls porter stands in


@dataclass(slots=True)
class Node:
    kind: str  # object | array | string | other
    start: int
    end: int
    value: object = None  # of a string, its text; of what is neither object nor array, what it says
    items: list[Node] = field(default_factory=list)  # of an array
    members: list[tuple[Node, Node]] = field(default_factory=list)  # of an object: key and value

    def get(self, key: str) -> Node | None:
        """The last member of that name, as parsers take it."""
        return next((value for name, value in reversed(self.members) if name.value == key), None)

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
        """Every value that is neither object nor array, with the keys that lead to it."""
        if self.kind == "object":
            for name, value in self.members:
                yield from value.walk((*path, str(name.value)))
        elif self.kind == "array":
            for item in self.items:
                yield from item.walk(path)
        else:
            yield path, self


def parse(text: str, unread: frozenset[str] = frozenset()) -> Node:
    """Raises Unreadable. Values of keys that are `unread` become nodes without a value: only their brackets are counted."""
    reader = _Reader(text, unread)
    node, at = reader.value(reader.space(0), 0)
    at = reader.space(at)
    if at != len(text):
        raise reader.error(at, "more after the end")
    return node


class _Reader:
    def __init__(self, text: str, unread: frozenset[str]):
        self.text, self.unread = text, unread

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        if depth > _DEEPEST:
            raise Unreadable("deep", "", self.text.count("\n", 0, at) + 1)
        first = self.text[at : at + 1]
        if first == "{":
            return self.object(at, depth)
        if first == "[":
            return self.array(at, depth)
        if first == '"':
            node = self.string(at)
            return node, node.end
        if found := _SCALAR.match(self.text, at):
            return Node("other", at, found.end(), found[0]), found.end()
        raise self.error(at, f"{first!r} is no value" if first else "ends in the middle")

    def string(self, at: int) -> Node:
        found = _STRING.match(self.text, at)
        if not found:
            raise self.error(at, "a string that does not end")
        if "\\" not in found[0]:
            return Node("string", at, found.end(), found[0][1:-1])
        try:
            return Node("string", at, found.end(), json.loads(found[0]))
        except ValueError:
            raise self.error(at, "a string with a broken escape") from None

    def array(self, at: int, depth: int) -> tuple[Node, int]:
        node, at = Node("array", at, at), self.space(at + 1)
        while self.text[at : at + 1] != "]":
            item, at = self.value(at, depth + 1)
            node.items.append(item)
            at = self.comma(at, "]")
        node.end = at + 1
        return node, node.end

    def object(self, at: int, depth: int) -> tuple[Node, int]:
        node, at = Node("object", at, at), self.space(at + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise self.error(at, "a key is missing" if at < len(self.text) else "ends in the middle")
            key = self.string(at)
            at = self.space(key.end)
            if self.text[at : at + 1] != ":":
                raise self.error(at, "':' is missing")
            at = self.space(at + 1)
            value, at = self.skipped(at) if key.value in self.unread else self.value(at, depth + 1)
            node.members.append((key, value))
            at = self.comma(at, "}")
        node.end = at + 1
        return node, node.end

    def skipped(self, at: int) -> tuple[Node, int]:
        """A value of which only the end is looked for: megabytes of numbers cost no node each."""
        if self.text[at : at + 1] not in ("{", "["):
            return self.value(at, 0)
        due: list[str] = []
        found = None
        while due or found is None:
            found = _BRACKET.search(self.text, found.end() if found else at)
            if found is None:
                raise self.error(len(self.text), "ends in the middle")
            if found[0] in _CLOSED_BY:
                due.append(_CLOSED_BY[found[0]])
            elif found[0] in ('"', "/*"):
                what = "string" if found[0] == '"' else "comment"
                raise self.error(found.start(), f"a {what} that does not end")
            elif found[0] in ("}", "]") and found[0] != due.pop():
                raise self.error(found.start(), f"{found[0]!r} closes what it did not open")
        return Node("other", at, found.end()), found.end()

    def comma(self, at: int, closing: str) -> int:
        at = self.space(at)
        if self.text[at : at + 1] == ",":
            return self.space(at + 1)
        if self.text[at : at + 1] != closing:
            raise self.error(at, f"',' or {closing!r} is missing" if at < len(self.text) else "ends in the middle")
        return at

    def space(self, at: int) -> int:
        return _SPACE.match(self.text, at).end()  # type: ignore[union-attr]  # it matches nothing at all, too

    def error(self, at: int, what: str) -> Unreadable:
        return Unreadable("text", f"JSON: {what}", self.text.count("\n", 0, at) + 1)


def encode(value: str, escaped: bool) -> str:
    """A string literal; `escaped`: with letters that are not ASCII as JSON's escapes."""
    return json.dumps(value, ensure_ascii=escaped)
