"""Reads in a regular expression which text its matches have. To look for that first takes a tenth of the time of a search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# texts, as nothing is compiled when a module is imported
_TOKEN = r"(?s)\\x..|\\u.{4}|\\U.{8}|\\N\{[^}]*\}|\\\d+|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[\d,]*\}|."
_FLAGS = r"\(\?([a-zA-Z]+)\)"  # of a whole pattern
_SPECIAL = frozenset(".^$*+?()[]{}|\\")

# texts of which a match has one; none if that is not known. Under the flag i a match has them in any case: callers ask for it.
Need = tuple[str, ...]


class Alternative(NamedTuple):
    """What stands between two | of a pattern."""

    text: str  # with the first bracket of a group, and nothing else of it
    needs: tuple[Need, ...]  # in their order

    @property
    def best(self) -> Need:
        """The need whose shortest text is the longest."""
        return max(self.needs, key=lambda need: min(map(len, need), default=0), default=())


class _Unknown(Exception):
    """The pattern has a part that this module does not read."""


def flags_of(pattern: str) -> str:
    """The flags that a pattern begins with."""
    match = re.match(_FLAGS, pattern)
    return match[1] if match else ""


def alternatives(pattern: str, words: bool = False) -> tuple[Alternative, ...]:
    """The alternatives of a pattern; none if it is not known. `words`: what they need has letters, digits and _ alone."""
    match = re.match(_FLAGS, pattern)
    if match and "x" in match[1]:
        return ()
    reader = _Reader(pattern[match.end() :] if match else pattern, words)
    try:
        found = reader.alternatives()
    except _Unknown:
        return ()
    return found if not reader.ended else ()


def needed(pattern: str) -> Need:
    """The need of a whole pattern."""
    return _joined(alternatives(pattern))


def _joined(found: tuple[Alternative, ...]) -> Need:
    needs = [alternative.best for alternative in found]
    return tuple(dict.fromkeys(text for need in needs for text in need)) if all(needs) else ()


class _Reader:
    def __init__(self, pattern: str, words: bool) -> None:
        self._tokens: Iterator[str] = iter(re.findall(_TOKEN, pattern))
        self._words = words
        self.ended = ""  # the token that ended the last alternative

    def alternatives(self, first: str = "") -> tuple[Alternative, ...]:
        """Those up to the end of a group, or of the pattern. `first`: a token that was taken already."""
        found = [self._alternative(first)]
        while self.ended == "|":
            found.append(self._alternative(""))
        return tuple(found)

    def _alternative(self, token: str) -> Alternative:
        needs: list[Need] = []
        text, run, after_group = "", "", False
        token = token or next(self._tokens, "")
        while token not in ("", "|", ")"):
            text += token
            letter = self._letter(token)
            if token[0] in "*?{":  # what is before it may be left out
                if after_group:
                    needs.pop()
                needs.append((run[:-1],))
            elif not letter:
                needs.append((run,))
            run = run + letter if letter else ""
            after_group = token == "("
            if after_group:
                needs.append(self._group())
            token = next(self._tokens, "")
        self.ended = token
        needs.append((run,))
        return Alternative(text, tuple(need for need in needs if all(need) and need))

    def _letter(self, token: str) -> str:
        """The character that a token stands for; "" if for more than one, or if it is not asked."""
        if len(token) == 2 and token[0] == "\\":
            token = "" if token[1].isalnum() else token[1]
        elif token in _SPECIAL:
            return ""
        is_asked = len(token) == 1 and token.isascii() and (not self._words or token.isalnum() or token == "_")
        return token if is_asked else ""

    def _group(self) -> Need:
        """What a group needs. What is only looked at counts as nothing."""
        token = next(self._tokens, "")
        if token != "?":
            return self._inside(token)
        kind = next(self._tokens, "")
        if kind == "P" and next(self._tokens, "") == "<":
            while next(self._tokens, ">") != ">":
                pass
        elif kind not in (":", "=", "!", "<"):
            raise _Unknown
        need = self._inside(next(self._tokens, ""))
        return need if kind in (":", "P") else ()

    def _inside(self, token: str) -> Need:
        """The need of the alternatives of a group that begins with a token."""
        if token in ("|", ")"):  # an empty alternative
            if token == "|":
                self.alternatives()
            need: Need = ()
        else:
            need = _joined(self.alternatives(token))
        if token != ")" and self.ended != ")":
            raise _Unknown
        return need
