"""What a script compares its variables with: `[ "$backend" = nccl ]`."""

from __future__ import annotations

import re
from typing import NamedTuple

from porter.regex import lazy

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
    return {name: _all(text, words.get(name, []), count) for name, count in counts.items()}


def _all(text: str, words: list[Word], count: int) -> list[Word] | None:
    in_comment = any("#" in text[text.rfind("\n", 0, word.start) + 1 : word.start] for word in words)
    return words if len(words) == count and not in_comment else None


def beside(words: list[Word] | None, old: str, held: re.Pattern[str]) -> list[int] | None:
    """Where the value `old` of a variable stands in its comparisons; None where these are for a person. `held`: a value of its kind."""
    if words is None or any(word.text != old and held.match(word.text) for word in words):
        return None
    return [word.start for word in words if word.text == old]
