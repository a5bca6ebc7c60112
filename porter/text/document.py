"""A file that is not Python, as its format's module sees it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol

from porter.engine.session import Session
from porter.engine.suppress import SPOKEN, Comment, Suppressions
from porter.errors import Unreadable
from porter.regex import lazy

_BLANK = lazy(r"\s*")
_BOM = b"\xef\xbb\xbf"


class Format(Protocol):
    """A module of text/formats, or what stands for one (analysis/text.py)."""

    @property
    def MARK(self) -> str: ...
    @property
    def READS(self) -> str: ...
    def read(self, document: Document) -> Any: ...


@dataclass
class Document:
    path: str
    data: bytes
    kind: str | Format  # a name, or what reads it
    session: Session
    mark: str = "#"  # what begins a comment; "" where the format has none

    @cached_property
    def bom(self) -> int:
        return len(_BOM) if self.data.startswith(_BOM) else 0

    @cached_property
    def text(self) -> str:
        try:
            return self.data[self.bom :].decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start + self.bom) + 1
            raise Unreadable("text-encoding", f"byte {self.data[self.bom + error.start]:#04x}", line) from None

    @cached_property
    def starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", self.text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def indent(self, offset: int) -> str | None:
        """What stands before a character in its line, if that is blank."""
        blank = _BLANK.match(self.text, self.starts[bisect_right(self.starts, offset) - 1], offset)
        return blank[0] if blank and blank.end() == offset else None

    def line_end(self, offset: int) -> int:
        """Where the line of a character ends, without its line end."""
        line = bisect_right(self.starts, offset)
        if line == len(self.starts):
            return len(self.text)
        end = self.starts[line] - 1
        return end - self.text.startswith("\r\n", end - 1)

    @cached_property
    def _wide(self) -> tuple[list[int], list[int]]:
        """Where the characters of several bytes stand, and how many bytes more than characters there are before each."""
        if self.text.isascii():
            return [], [0]
        wide = [(m.start(), len(m[0].encode("utf-8")) - 1) for m in re.finditer(r"[^\x00-\x7f]", self.text)]
        return [offset for offset, _ in wide], [*accumulate((more for _, more in wide), initial=0)]

    @cached_property
    def _wide_bytes(self) -> list[int]:
        """The same places in bytes."""
        return [offset + more for offset, more in zip(*self._wide)]

    def byte(self, offset: int) -> int:
        """Where a character stands in the file."""
        places, more = self._wide
        return self.bom + offset + more[bisect_left(places, offset)]

    def character(self, offset: int) -> int:
        """Which character of the text stands at a byte of the file."""
        byte = offset - self.bom
        return byte - self._wide[1][bisect_left(self._wide_bytes, byte)]

    @cached_property
    def suppressions(self) -> Suppressions:
        return Suppressions(self._remarks())

    def _remarks(self) -> Iterator[Comment]:
        if self.mark and SPOKEN in self.data:
            for match in re.finditer(re.escape(self.mark) + r"([ \t]*porter:[^\n\r]*)", self.text):
                line, column = self.place(match.start())
                alone = not self.text[self.starts[line - 1] : match.start()].strip()
                yield Comment(line, column, match[1], alone)

    @cached_property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"
