"""JSON with the place of every value. Takes comments and commas at the end, which settings files have, and values that a script
fills in, which templates of settings have: `"train_batch_size": BATCH_SIZE`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from porter.errors import Unreadable
from porter.regex import lazy

_SPACE = lazy(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = lazy(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"', re.DOTALL)
# a bracket, or what may hold brackets that are none
_BRACKET = lazy(rf'{_STRING.pattern}|//[^\n]*|/\*(?:.*?\*/)?|["{{}}\[\]]', re.DOTALL)
_SCALAR = lazy(r"-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|Infinity)|true|false|null|NaN")
# a word that stands for a value
_FILLED_IN = lazy(r"(?:[A-Z][A-Za-z0-9]*_\w*|[A-Z][A-Z0-9]+)\b|\$\{\w+\}|\$\w+\b|\{\{[^{}\n]*\}\}")
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


def parse(text: str, unread: frozenset[str] = frozenset()) -> Node:
    """Raises Unreadable. Values of keys that are `unread` become nodes without a value: only their brackets are counted."""
    reader = _Reader(text, unread)
    node, offset = reader.value(reader.space(0), 0)
    offset = reader.space(offset)
    if offset != len(text):
        raise reader.error(offset, "more after the end")
    return node


class _Reader:
    def __init__(self, text: str, unread: frozenset[str]):
        self.text, self.unread = text, unread

    def value(self, offset: int, depth: int) -> tuple[Node, int]:
        if depth > _DEEPEST:
            raise Unreadable("deep", "", self.text.count("\n", 0, offset) + 1)
        first = self.text[offset : offset + 1]
        may_be_filled_in = first == "$" or first.isupper() or self.text.startswith("{{", offset)
        if may_be_filled_in and (match := _FILLED_IN.match(self.text, offset)):
            return Node("other", offset, match.end(), match[0]), match.end()
        if first == "{":
            return self.object(offset, depth)
        if first == "[":
            return self.array(offset, depth)
        if first == '"':
            node = self.string(offset)
            return node, node.end
        if match := _SCALAR.match(self.text, offset):
            return Node("other", offset, match.end(), match[0]), match.end()
        raise self.error(offset, f"{first!r} is no value" if first else "ends in the middle")

    def string(self, offset: int) -> Node:
        match = _STRING.match(self.text, offset)
        if not match:
            raise self.error(offset, "a string that does not end")
        if "\\" not in match[0]:
            return Node("string", offset, match.end(), match[0][1:-1])
        try:
            return Node("string", offset, match.end(), json.loads(match[0]))
        except ValueError:
            raise self.error(offset, "a string with a broken escape") from None

    def array(self, offset: int, depth: int) -> tuple[Node, int]:
        node, offset = Node("array", offset, offset), self.space(offset + 1)
        while self.text[offset : offset + 1] != "]":
            item, offset = self.value(offset, depth + 1)
            node.items.append(item)
            offset = self.comma(offset, "]")
        node.end = offset + 1
        return node, node.end

    def object(self, offset: int, depth: int) -> tuple[Node, int]:
        node, offset = Node("object", offset, offset), self.space(offset + 1)
        while self.text[offset : offset + 1] != "}":
            if self.text[offset : offset + 1] != '"':
                raise self.error(offset, "a key is missing" if offset < len(self.text) else "ends in the middle")
            key = self.string(offset)
            offset = self.space(key.end)
            if self.text[offset : offset + 1] != ":":
                raise self.error(offset, "':' is missing")
            offset = self.space(offset + 1)
            value, offset = self.skipped(offset) if key.value in self.unread else self.value(offset, depth + 1)
            node.members.append((key, value))
            offset = self.comma(offset, "}")
        node.end = offset + 1
        return node, node.end

    def skipped(self, offset: int) -> tuple[Node, int]:
        """A value of which only the end is looked for: megabytes of numbers cost no node each."""
        if self.text[offset : offset + 1] not in ("{", "["):
            return self.value(offset, 0)
        closings: list[str] = []
        bracket = None
        while closings or bracket is None:
            bracket = _BRACKET.search(self.text, bracket.end() if bracket else offset)
            if bracket is None:
                raise self.error(len(self.text), "ends in the middle")
            if bracket[0] in _CLOSED_BY:
                closings.append(_CLOSED_BY[bracket[0]])
            elif bracket[0] in ('"', "/*"):
                unclosed = "string" if bracket[0] == '"' else "comment"
                raise self.error(bracket.start(), f"a {unclosed} that does not end")
            elif bracket[0] in ("}", "]") and bracket[0] != closings.pop():
                raise self.error(bracket.start(), f"{bracket[0]!r} closes what it did not open")
        return Node("other", offset, bracket.end()), bracket.end()

    def comma(self, offset: int, closing: str) -> int:
        offset = self.space(offset)
        if self.text[offset : offset + 1] == ",":
            return self.space(offset + 1)
        if self.text[offset : offset + 1] != closing:
            raise self.error(
                offset, f"',' or {closing!r} is missing" if offset < len(self.text) else "ends in the middle"
            )
        return offset

    def space(self, offset: int) -> int:
        return _SPACE.match(self.text, offset).end()  # type: ignore[union-attr]  # it matches nothing at all, too

    def error(self, offset: int, problem: str) -> Unreadable:
        return Unreadable("text", f"JSON: {problem}", self.text.count("\n", 0, offset) + 1)


def encode(value: str, escaped: bool) -> str:
    """A string literal; `escaped`: with letters that are not ASCII as JSON's escapes."""
    return json.dumps(value, ensure_ascii=escaped)
