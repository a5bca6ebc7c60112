"""TOML: tomli says whether it is some, and what; this finds where its values stand."""

from __future__ import annotations

import re
from typing import Any

from porter.errors import Unreadable
from porter.regex import lazy
from porter.text.document import Document
from porter.text.settings.entries import ITEM, Builder, Settings, same

MARK, READS = "#", "settings"
__all__ = ["MARK", "READS", "read", "same"]

_BLANK = lazy(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = lazy(r"[ \t]*")
# what is taken at a step is a run of letters: a step for each of a million would remember each
_STRING = lazy(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3,5}|\'\'\'.*?\'{3,5}|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\n]*\'', re.DOTALL
)
_OTHER = lazy(r"[^\s,\]}#]+(?: \d[\d:.Z+-]*)?")  # a date and its time may have a space between them
_BARE = lazy(r"[A-Za-z0-9_-]+")


def read(document: Document) -> Settings:
    import tomli

    try:
        tomli.loads(document.text.replace("\r\n", "\n"))
    except ValueError as error:  # beside its own, what Python says of a number of 5,000 digits
        place = re.search(r" \(at line (\d+)", str(error))
        raise Unreadable("text", f"TOML: {str(error).partition(' (at')[0]}", int(place[1]) if place else 1) from None
    reader = _Reader(Builder(document.text))
    reader.document()
    return reader.builder.settings


class _Reader:
    """Of text that is known to be TOML, so that what is looked for is there: a match is never None."""

    def __init__(self, builder: Builder):
        self.builder, self.text, self.offset, self.owners = builder, builder.text, 0, 0

    def _skip(self, pattern: re.Pattern[str] = _BLANK) -> None:
        match: Any = pattern.match(self.text, self.offset)
        self.offset = match.end()

    def document(self) -> None:
        table: list[str] = []
        owner = 0
        self._skip()
        while self.offset < len(self.text):
            if self.text[self.offset] == "[":
                many = self.text.startswith("[[", self.offset)
                self.offset += 1 + many
                table = [name for name, _ in self._keys()] + [ITEM] * many
                self.offset += 1 + many
                self.owners += 1
                owner = self.owners
            else:
                self._pair(table, owner)
            self._skip()

    def _pair(self, path: list[str], owner: int) -> None:
        keys = self._keys()
        self.offset += 1  # =
        self._skip(_SPACE)
        self._value([*path, *(name for name, _ in keys)], owner, keys[-1][1])

    def _keys(self) -> list[tuple[str, tuple[int, int]]]:
        keys = []
        while True:
            self._skip(_SPACE)
            if self.text[self.offset] in "\"'":
                name, start, end = self._string()
            else:
                match: Any = _BARE.match(self.text, self.offset)
                name, (start, end), self.offset = match[0], match.span(), match.end()
            keys.append((name, (start, end)))
            self._skip(_SPACE)
            if self.text[self.offset] != ".":
                return keys
            self.offset += 1

    def _string(self) -> tuple[str, int, int]:
        """Value and what is between the quotes."""
        import tomli

        match: Any = _STRING.match(self.text, self.offset)
        written, self.offset = match[0], match.end()
        width = 3 if written[:3] in ('"""', "'''") else 1
        start, end = match.start() + width, match.end() - width
        if "\\" in written or width == 3:
            return tomli.loads("x = " + written.replace("\r\n", "\n"))["x"], start, end
        return self.text[start:end], start, end

    def _value(self, path: list[str], owner: int, key: tuple[int, int] | None) -> None:
        first = self.text[self.offset]
        if first in "\"'":
            value, start, end = self._string()
            self.builder.add(path, value, start, end, key=key, owner=owner, quoted=True)
        elif first in "[{":
            self.owners += 1
            inner_owner, self.offset = self.owners, self.offset + 1
            self._skip()
            while self.text[self.offset] not in "]}":
                if first == "[":
                    self._value([*path, ITEM], inner_owner, key)
                else:
                    self._pair(path, inner_owner)
                self._skip()
                if self.text[self.offset] == ",":
                    self.offset += 1
                    self._skip()
            self.offset += 1
        else:
            match: Any = _OTHER.match(self.text, self.offset)
            self.offset = match.end()
            self.builder.add(path, match[0], *match.span(), key=key, owner=owner)
