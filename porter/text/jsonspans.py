"""JSON with the place of every value. Takes comments and commas at the end, which settings files have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from porter.own import Unreadable

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"', re.DOTALL)
_SCALAR = re.compile(r"-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|Infinity)|true|false|null|NaN")


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


def parse(text: str) -> Node:
    """Raises Unreadable."""
    node, at = _value(text, _space(text, 0))
    at = _space(text, at)
    if at != len(text):
        raise _error(text, at, "more after the end")
    return node


def _value(text: str, at: int) -> tuple[Node, int]:
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at)
    if first == "[":
        return _array(text, at)
    if first == '"':
        node = _string(text, at)
        return node, node.end
    if found := _SCALAR.match(text, at):
        return Node("other", at, found.end(), found[0]), found.end()
    raise _error(text, at, f"{first!r} is no value" if first else "ends in the middle")


def _string(text: str, at: int) -> Node:
    found = _STRING.match(text, at)
    if not found:
        raise _error(text, at, "a string that does not end")
    if "\\" not in found[0]:
        return Node("string", at, found.end(), found[0][1:-1])
    try:
        return Node("string", at, found.end(), json.loads(found[0]))
    except ValueError:
        raise _error(text, at, "a string with a broken escape") from None


def _array(text: str, at: int) -> tuple[Node, int]:
    node, at = Node("array", at, at), _space(text, at + 1)
    while text[at : at + 1] != "]":
        item, at = _value(text, at)
        node.items.append(item)
        at = _comma(text, at, "]")
    node.end = at + 1
    return node, node.end


def _object(text: str, at: int) -> tuple[Node, int]:
    node, at = Node("object", at, at), _space(text, at + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise _error(text, at, "a key is missing" if at < len(text) else "ends in the middle")
        key = _string(text, at)
        at = _space(text, key.end)
        if text[at : at + 1] != ":":
            raise _error(text, at, "':' is missing")
        value, at = _value(text, _space(text, at + 1))
        node.members.append((key, value))
        at = _comma(text, at, "}")
    node.end = at + 1
    return node, node.end


def _comma(text: str, at: int, closing: str) -> int:
    at = _space(text, at)
    if text[at : at + 1] == ",":
        return _space(text, at + 1)
    if text[at : at + 1] != closing:
        raise _error(text, at, f"',' or {closing!r} is missing" if at < len(text) else "ends in the middle")
    return at


def _space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  it matches nothing at all, too


def _error(text: str, at: int, what: str) -> Unreadable:
    return Unreadable("text", f"JSON: {what}", text.count("\n", 0, at) + 1)


def encode(value: str, like: str) -> str:
    """A string literal in the manner of another: non-ASCII letters as they are, or escaped."""
    return json.dumps(value, ensure_ascii=like.isascii() and r"\u" in like)
