"""Which files say a name that many files are asked for: one that is asked often is read into words, once for all names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from porter.regex import lazy

_OTHERS = bytes(c if c < 128 and chr(c).isalnum() or c == ord("_") else ord(" ") for c in range(256))
_OFTEN = 4  # names; so many letters are found in the time in which a text is read into words
_WORD = lazy(rb"\w+")


class SaidWords:
    def __init__(self, text: Callable[[str], bytes]) -> None:
        self._text = text
        self._names: frozenset[bytes] = frozenset()
        self._asked: dict[str, int] = {}
        self._said: dict[str, frozenset[bytes]] = {}  # of the names above, those that a file says

    def will_ask(self, names: Iterable[bytes]) -> None:
        """Of other names, and of those that are no words, the letters are looked for."""
        self._names = self._names.union(name for name in names if _WORD.fullmatch(name))
        self._said.clear()

    def may_say(self, path: str, name: bytes) -> bool:
        """False where a name stands nowhere in a file as a word of its own."""
        said = self._said.get(path)
        if said is not None and name in self._names:
            return name in said
        text, asked = self._text(path), self._asked.get(path, 0)
        if said is None and asked >= _OFTEN:
            self._said[path] = self._names.intersection(text.translate(_OTHERS).split())
        self._asked[path] = asked + 1
        return name in text
