"""What a script compares its variables with: `[ "$backend" = nccl ]`."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from porter.regex import lazy

_MARK = lazy(r"[#\n]")
# `case $x`, `$x = y`, `y == $x`: the name
_COMPARED = lazy(
    r"\bcase\s+[\"']?\$\{?(\w+)|\$\{?(\w+)[^\s\"']{0,100}[\"']?\s*(?:[!=]=|=~|=\s)"
    r"|(?:[!=]=|\s=\s)[ \t]*[\"']?\$\{?(\w+)"
)
# the same with a plain word on the other side, in either order
_NAME = r"[\"']?\$(?:\{(\w+)\}|(\w+))[\"']?"
_WITH_A_WORD = lazy(_NAME + r"[ \t]+(?:[!=]=|=)[ \t]+([\"']?)([\w:.-]+)\3(?=[ \t]*(?:\]|&&|\|\|))")
_TURNED = lazy(r"(?<=[ \t])([\"']?)([\w:.-]+)\1[ \t]+(?:[!=]=|=)[ \t]+" + _NAME + r"(?=[ \t]*(?:\]|&&|\|\|))")


class Word(NamedTuple):
    """A plain word that a variable is compared with."""

    start: int
    text: str


def comparisons(text: str) -> dict[str, list[Word] | None]:
    """By variable: the words that it is compared with; None where one of its comparisons is of another kind."""
    counts: dict[str, int] = {}
    for match in _COMPARED.finditer(text):
        name = match[1] or match[2] or match[3]
        counts[name] = counts.get(name, 0) + 1
    words: dict[str, list[Word]] = {}
    if counts:
        for match in _WITH_A_WORD.finditer(text):
            words.setdefault(match[1] or match[2], []).append(Word(match.start(4), match[4]))
        for match in _TURNED.finditer(text):
            words.setdefault(match[3] or match[4], []).append(Word(match.start(2), match[2]))
    marks = [match.start() for match in _MARK.finditer(text)] if words else []
    known: dict[str, list[Word] | None] = {}
    for name, count in counts.items():
        beside = words.get(name, [])
        known[name] = (
            None if len(beside) != count or any(_is_in_comment(text, w.start, marks) for w in beside) else beside
        )
    return known


def _is_in_comment(text: str, at: int, marks: list[int]) -> bool:
    """`marks`: where lines begin, and where a `#` stands."""
    before = bisect_left(marks, at) - 1
    return before >= 0 and text[marks[before]] == "#"


def beside(words: list[Word] | None, old: str, held: re.Pattern[str]) -> list[int] | None:
    """Where the value `old` of a variable stands in its comparisons; None where these are for a person. `held`: a value of its kind."""
    if words is None or any(word.text != old and held.match(word.text) for word in words):
        return None
    return [word.start for word in words if word.text == old]
