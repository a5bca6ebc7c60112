"""Reads suppressions from comments: `porter: ignore[PRT101] reason` and `porter: skip-file reason`.

`ignore` needs a code. A suppression that hides nothing is a finding.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

from porter.regex import lazy

SPOKEN = b"porter:"  # a file without this word has no suppressions
_IGNORE = lazy(r"(?:^|#|//)\s*porter:\s*ignore(?:\[([^\]]*)\])?[ \t:,-]*(.*)")
_SKIP = lazy(r"(?:^|#|//)\s*porter:\s*skip-file[ \t:,-]*(.*)")
_ANNOTATION = lazy(r" PRT\d{3}: ")  # a comment that `migrate --annotate` wrote
_CODE = lazy(r"PRT\d{3}$")
_HEAD = 10  # skip-file counts in these first lines


@dataclass(frozen=True, slots=True)
class Comment:
    line: int
    column: int  # from 1
    text: str  # behind the comment mark
    alone: bool  # it is alone in its line, so that it speaks of the next statement


@dataclass
class Ignore:
    """One `porter: ignore[...]`."""

    line: int
    column: int
    codes: tuple[str, ...]
    reason: str
    alone: bool
    used: set[str] = field(default_factory=set)  # its codes that hid a finding


_line = attrgetter("line")


class Suppressions:
    """The suppressions of one file."""

    def __init__(self, comments: Iterable[Comment] = ()):
        """`comments` come in the order of the file."""
        self.ignores: list[Ignore] = []
        self.malformed: list[tuple[int, int, str]] = []  # line, column, what stands there
        self.skip: str | None = None  # why the file is left alone
        self._annotated: set[int] = set()
        for comment in comments:
            self._read(comment)

    def _read(self, comment: Comment) -> None:
        if _ANNOTATION.match(comment.text):
            self._annotated.add(comment.line)
        elif comment.line <= _HEAD and (match := _SKIP.search(comment.text)):
            self.skip = match[1].strip()
        elif match := _IGNORE.search(comment.text):
            codes = tuple(c.strip() for c in (match[1] or "").split(",") if c.strip())
            if codes and all(map(_CODE.match, codes)):
                self.ignores.append(Ignore(comment.line, comment.column, codes, match[2].strip(), comment.alone))
            else:
                self.malformed.append((comment.line, comment.column, match[1] or ""))

    def reason(self, code: str, first: int, last: int) -> str | None:
        """Why a finding on the statement that spans these lines is suppressed; None where it is not."""
        if not self.ignores:
            return None
        for ignore in self.ignores[self._above(first) : bisect_right(self.ignores, last, key=_line)]:
            if code in ignore.codes:
                ignore.used.add(code)
                return ignore.reason
        return None

    def _above(self, first: int) -> int:
        """The index of the first suppression for a statement that begins on this line: several may stand above it, each
        alone in its line."""
        index = bisect_left(self.ignores, first, key=_line)
        while True:
            first -= 1
            if index and self.ignores[index - 1].alone and self.ignores[index - 1].line == first:
                index -= 1
            elif first not in self._annotated:  # `migrate --annotate` puts its comments in between
                return index
