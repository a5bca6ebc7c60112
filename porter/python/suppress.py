"""`# porter: ignore[PRT101] reason` and `# porter: skip-file reason`. A code is required; an unused one is a finding."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from operator import attrgetter

from .source import Source

_IGNORE = re.compile(r"#\s*porter:\s*ignore(?:\[([^\]]*)\])?[ \t:,-]*(.*)")
_SKIP = re.compile(r"#\s*porter:\s*skip-file[ \t:,-]*(.*)")
_ANNOTATION = re.compile(r"# PRT\d{3}: ")
_CODE = re.compile(r"PRT\d{3}$")


@dataclass
class Ignore:
    line: int
    column: int
    codes: tuple[str, ...]
    reason: str
    alone: bool  # the comment has its line for itself and speaks of the next statement
    used: set[str] = field(default_factory=set)


_line = attrgetter("line")


class Suppressions:
    def __init__(self, source: Source):
        self.ignores: list[Ignore] = []
        self.malformed: list[tuple[int, int, str]] = []  # line, column, what is wrong: a key of PRT005
        self.skip: str | None = None
        self._annotated: set[int] = set()
        if b"porter:" in source.data:
            self._read(source)

    def _read(self, source: Source) -> None:
        for line, column, text in source.comments:
            if _ANNOTATION.match(text):
                self._annotated.add(line)
            elif "porter:" in text:
                start = source.starts[line - 1]
                before = source.utf8[start : source.line_end(start)[0]].decode("utf-8")[:column]
                self._comment(line, column, text, alone=not before.strip())

    def _comment(self, line: int, column: int, text: str, alone: bool) -> None:
        if (found := _SKIP.match(text)) and line <= 10:
            self.skip = found[1].strip()
        elif found := _IGNORE.match(text):
            codes = tuple(c.strip() for c in (found[1] or "").split(",") if c.strip())
            if not codes or not all(_CODE.match(c) for c in codes):
                self.malformed.append((line, column + 1, found[1] or ""))
                return
            self.ignores.append(Ignore(line, column + 1, codes, found[2].strip(), alone))

    def reason(self, code: str, first: int, last: int) -> str | None:
        """Why a finding on the statement that spans these lines is suppressed; None where it is not."""
        for ignore in self.ignores[self._above(first) : bisect_right(self.ignores, last, key=_line)]:
            if code in ignore.codes:
                ignore.used.add(code)
                return ignore.reason
        return None

    def _above(self, first: int) -> int:
        """Of the comments for a statement that begins on this line, the first: several may stand alone above it."""
        at = bisect_left(self.ignores, first, key=_line)
        while True:
            first -= 1
            if at and self.ignores[at - 1].alone and self.ignores[at - 1].line == first:
                at -= 1
            elif first not in self._annotated:  # `migrate --annotate` puts its comments in between
                return at
