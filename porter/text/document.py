"""A file that is not Python, as its format's module sees it, and what it may answer."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from porter.session import Session

_BOM = b"\xef\xbb\xbf"


class Unreadable(Exception):
    """`key` is a message of PRT002."""

    def __init__(self, key: str, error: str, line: int = 1):
        super().__init__(key, error)
        self.key, self.error, self.line = key, error, line


@dataclass(frozen=True)
class TextHit:
    """One thing found. `edits` replace characters `start:end` of the text; none = only a person can."""

    start: int
    end: int
    code: str
    why: str
    values: tuple[tuple[str, str], ...] = ()
    edits: tuple[tuple[int, int, str], ...] = ()
    safe: bool = False  # the edit keeps the meaning
    severity: str = ""  # instead of the message's own
    effort: str = ""
    optional: bool = False

    @staticmethod
    def values_of(**values: str) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(values.items()))


@dataclass
class Document:
    path: str
    data: bytes
    kind: str
    session: Session
    mark: str = "#"  # what begins a comment; "" where the format has none
    ignores: list[Ignore] = field(default_factory=list)

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

    def line_of(self, offset: int) -> str:
        line = bisect_right(self.starts, offset)
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return self.text[self.starts[line - 1] : end]

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    def byte(self, offset: int) -> int:
        """Where a character stands in the file."""
        return self.bom + (offset if self._ascii else len(self.text[:offset].encode("utf-8")))

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"


@dataclass
class Ignore:
    line: int
    column: int
    codes: tuple[str, ...]
    reason: str
    alone: bool
    used: set[str] = field(default_factory=set)


_IGNORE = r"[ \t]*porter:[ \t]*ignore(?:\[([^\]\n]*)\])?[ \t:,-]*([^\n\r]*)"
_SKIP = r"[ \t]*porter:[ \t]*skip-file[ \t:,-]*([^\n\r]*)"
_CODE = re.compile(r"PRT\d{3}$")


def skipped(document: Document) -> str | None:
    """The reason why the file is to be left alone; None where it is not."""
    if not document.mark or b"porter:" not in document.data:
        return None
    head = "".join(document.text.splitlines(keepends=True)[:10])
    found = re.search(re.escape(document.mark) + _SKIP, head)
    return found[1].strip() if found else None


def ignores(document: Document) -> Iterator[tuple[Ignore | None, int, int, str]]:
    """Suppressions, or (None, line, column, text) for one that is not understood."""
    if not document.mark or b"porter:" not in document.data:
        return
    for found in re.finditer(re.escape(document.mark) + _IGNORE, document.text):
        line, column = document.place(found.start())
        codes = tuple(code.strip() for code in (found[1] or "").split(",") if code.strip())
        if not codes or not all(_CODE.match(code) for code in codes):
            yield None, line, column, found[1] or ""
            continue
        alone = not document.text[document.starts[line - 1] : found.start()].strip()
        yield Ignore(line, column, codes, found[2].strip(), alone), line, column, ""


def reason(document: Document, code: str, first: int, last: int) -> str | None:
    """Why a finding on these lines is suppressed: by a comment on one of them, or alone above."""
    above = first - 1
    while any(i.alone and i.line == above for i in document.ignores):
        above -= 1
    for ignore in document.ignores:
        if code in ignore.codes and (first <= ignore.line <= last or ignore.alone and above < ignore.line < first):
            ignore.used.add(code)
            return ignore.reason
    return None
