"""Searches a file for patterns. The set of its words excludes most patterns, so that the text is not searched for them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

from porter.letters import alternatives, flags_of
from porter.python.index import Node
from porter.regex import lazy


class Searched(Protocol):
    """The part of `Lines` (python/source.py) that this module needs."""

    utf8: bytes

    @property
    def starts(self) -> list[int]: ...
    @property
    def words(self) -> frozenset[bytes]: ...
    @property
    def vocabulary(self) -> bytes: ...
    @property
    def lowered(self) -> bytes: ...


class Placed(Searched, Protocol):
    """The part of `Source` (python/source.py) that this module needs."""

    def span(self, node: Node) -> tuple[int, int]: ...


# a pattern that begins with a whole word
_WORD = lazy(r"\\b([A-Za-z_]\w*)(?=\\[(bs]|\\\.(?![?*])|\[ \\t\]\+|\(\?:\[|$)")
_WHOLE_WORD = lazy(r"\\b([A-Za-z_]\w*)(?=\\[b.(\[](?![?*{]))")  # an alternative that surely begins with one


class Sought:
    """A pattern, with a word, or runs of letters, that every text contains that it matches."""

    def __init__(self, text: str) -> None:
        word = _WORD.match(text)
        self.word = word[1].encode() if word else None
        # without \b at its begin a pattern may match more, and plain letters are found in a tenth of the time
        self._text = text.removeprefix(r"\b").encode()
        self._asked = text

    @cached_property
    def letters(self) -> bytes:
        """The longest run: of most patterns the word is asked instead."""
        return self._runs[0]

    @cached_property
    def other_runs(self) -> list[bytes]:
        return self._runs[1:]

    @cached_property
    def _runs(self) -> list[bytes]:
        return letters(self._asked)

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """The compiled pattern. For most files, most patterns are never compiled."""
        return re.compile(self._text)


class Several(tuple[Sought, ...]):
    """Patterns one of which is wanted, with the words that are asked first: most files have none of them."""

    def __init__(self, _: Iterable[Sought] = ()) -> None:
        self._by_word: dict[bytes, list[Sought]] = {}
        for item in self:
            if item.word is not None:
                self._by_word.setdefault(item.word, []).append(item)
        self._words = frozenset(self._by_word)
        self._has_others = any(item.word is None for item in self)

    @cached_property
    def _by_letters(self) -> dict[bytes, list[Sought]]:
        """Those without a word: many hold the same letters."""
        found: dict[bytes, list[Sought]] = {}
        for item in self:
            if item.word is None:
                found.setdefault(item.letters, []).append(item)
        return found

    def left_open(self, source: Searched) -> list[Sought]:
        """Those that may match a text, by its words."""
        words = self._words & source.words
        found = [item for word in words for item in self._by_word[word]] if words else []
        if self._has_others:
            among = source.vocabulary
            for letters, items in self._by_letters.items():
                if letters in among:
                    found += items
        return found


def letters(pattern: str) -> list[bytes]:
    """Runs of letters that every match of a pattern holds, the longest first."""
    found = alternatives(pattern, words=True)
    if len(found) != 1 or flags_of(pattern):
        return [b""]
    runs = [need[0] for need in found[0].needs if len(need) == 1]
    return [run.encode() for run in sorted(runs, key=len, reverse=True)] or [b""]


class _Needed(NamedTuple):
    """What a text must have that a pattern matches: one of the words, or one of the runs of letters."""

    words: frozenset[bytes]
    runs: tuple[bytes, ...]
    lowered: bool  # the runs are in lower case


@lru_cache(maxsize=1024)
def _needed(sought: re.Pattern[bytes] | bytes) -> _Needed:
    if isinstance(sought, bytes):
        return _Needed(frozenset(), (max(re.split(rb"\W+", sought), key=len),), lowered=False)
    text = sought.pattern.decode("latin-1")
    flags, words, runs = flags_of(text), set(), list[str]()
    lowered = bool(sought.flags & re.IGNORECASE) or "i" in flags
    found = () if sought.flags & re.VERBOSE else alternatives(text, words=True)
    for alternative in found:
        word = None if lowered else _WHOLE_WORD.match(alternative.text)
        if word:
            words.add(word[1].encode())
        else:
            runs += alternative.best or ("",)
    each = [run.encode() for run in runs] if found else [b""]
    return _Needed(frozenset(words), tuple(run.lower() for run in each) if lowered else tuple(each), lowered)


def may_say(source: Searched, sought: re.Pattern[bytes] | bytes) -> bool:
    """Whether the words of a text leave open that it has a match."""
    needed = _needed(sought)
    if not needed.words.isdisjoint(source.words):
        return True
    among = source.lowered if needed.lowered else source.vocabulary
    return any([run in among for run in needed.runs])


def matched(
    source: Searched, sought: Iterable[Sought], lowered: bool = False
) -> tuple[list[re.Pattern[bytes]], list[int]]:
    """The patterns that match, and the lines of the matches, from 1, sorted, each once. `lowered`: search in lower case."""
    among = source.lowered if lowered else source.vocabulary
    if isinstance(sought, Several):
        sought = sought.left_open(source)
    elif lowered:
        sought = [item for item in sought if item.letters in among]
    else:
        words = source.words
        sought = [item for item in sought if (item.word in words if item.word is not None else item.letters in among)]
    text = source.utf8.lower() if lowered and sought else source.utf8  # bytes keep their length
    patterns, lines = [], set()
    for item in sought:
        if item.other_runs and not all([run in among for run in item.other_runs]):
            continue
        if starts := [match.start() for match in item.pattern.finditer(text)]:
            patterns.append(item.pattern)
            begins = source.starts
            lines.update([bisect_right(begins, start) for start in starts])
    return patterns, sorted(lines)


def lines_with(source: Searched, *sought: Sought, lowered: bool = False) -> list[int]:
    """The lines on which one of these patterns matches."""
    return matched(source, sought, lowered)[1]


def says(source: Placed, node: Node, patterns: Iterable[re.Pattern[bytes]]) -> bool:
    """Whether one of these patterns matches a statement. Of a compound statement, only the header counts."""
    start, end = source.span(node)
    body = getattr(node, "body", None)
    if body.__class__ is list and body and hasattr(body[0], "lineno"):
        end = source.span(body[0])[0]
    head = source.utf8[start:end]
    return any(pattern.search(head) for pattern in patterns)
