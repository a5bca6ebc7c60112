"""TOML: tomli says whether it is some, and what; this finds where its values stand."""

from __future__ import annotations

import re
from typing import Any

from porter.errors import Unreadable
from porter.text.document import Document
from porter.text.settings.entries import ITEM, Builder, Settings, same

MARK, READS = "#", "settings"
__all__ = ["MARK", "READS", "read", "same"]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
# what is taken at a step is a run of letters: a step for each of a million would remember each
_STRING = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3,5}|\'\'\'.*?\'{3,5}|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\n]*\'', re.DOTALL
)
_OTHER = re.compile(r"[^\s,\]}#]+(?: \d[\d:.Z+-]*)?")  # a date and its time may have a space between them
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read(document: Document) -> Settings:
    import tomli

    try:
        tomli.loads(document.text.replace("\r\n", "\n"))
    except ValueError as error:  # beside its own, what Python says of a number of 5,000 digits
        found = re.search(r" \(at line (\d+)", str(error))
        raise Unreadable("text", f"TOML: {str(error).partition(' (at')[0]}", int(found[1]) if found else 1) from None
    reader = _Reader(Builder(document))
    reader.document()
    return reader.builder.settings


class _Reader:
    """Of text that is known to be TOML, so that what is looked for is there: a match is never None."""

    def __init__(self, builder: Builder):
        self.builder, self.text, self.at, self.owners = builder, builder.text, 0, 0

    def _skip(self, pattern: re.Pattern[str] = _BLANK) -> None:
        found: Any = pattern.match(self.text, self.at)
        self.at = found.end()

    def document(self) -> None:
        table: list[str] = []
        owner = 0
        self._skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                many = self.text.startswith("[[", self.at)
                self.at += 1 + many
                table = [name for name, _ in self._keys()] + [ITEM] * many
                self.at += 1 + many
                self.owners += 1
                owner = self.owners
            else:
                self._pair(table, owner)
            self._skip()

    def _pair(self, path: list[str], owner: int) -> None:
        keys = self._keys()
        self.at += 1  # =
        self._skip(_SPACE)
        self._value([*path, *(name for name, _ in keys)], owner, keys[-1][1])

    def _keys(self) -> list[tuple[str, tuple[int, int]]]:
        found = []
        while True:
            self._skip(_SPACE)
            if self.text[self.at] in "\"'":
                name, start, end = self._string()
            else:
                match: Any = _BARE.match(self.text, self.at)
                name, (start, end), self.at = match[0], match.span(), match.end()
            found.append((name, (start, end)))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return found
            self.at += 1

    def _string(self) -> tuple[str, int, int]:
        """Value and what is between the quotes."""
        import tomli

        match: Any = _STRING.match(self.text, self.at)
        written, self.at = match[0], match.end()
        width = 3 if written[:3] in ('"""', "'''") else 1
        start, end = match.start() + width, match.end() - width
        if "\\" in written or width == 3:
            return tomli.loads("x = " + written.replace("\r\n", "\n"))["x"], start, end
        return self.text[start:end], start, end

    def _value(self, path: list[str], owner: int, key: tuple[int, int] | None) -> None:
        first = self.text[self.at]
        if first in "\"'":
            value, start, end = self._string()
            self.builder.add(path, value, start, end, key=key, owner=owner, quoted=True)
        elif first in "[{":
            self.owners += 1
            mine, self.at = self.owners, self.at + 1
            self._skip()
            while self.text[self.at] not in "]}":
                if first == "[":
                    self._value([*path, ITEM], mine, key)
                else:
                    self._pair(path, mine)
                self._skip()
                if self.text[self.at] == ",":
                    self.at += 1
                    self._skip()
            self.at += 1
        else:
            match: Any = _OTHER.match(self.text, self.at)
            self.at = match.end()
            self.builder.add(path, match[0], *match.span(), key=key, owner=owner)
