"""Says whether a file may contain a name. A file that is asked often is split into words once, for all names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from porter.regex import lazy

# a table for `translate`: every byte that belongs to no word becomes a space
_OTHERS = bytes(c if c < 128 and chr(c).isalnum() or c == ord("_") else ord(" ") for c in range(256))
_OFTEN = 4  # so many searches for a name take as long as splitting the text into words
_WORD = lazy(rb"\w+")


class SaidWords:
    def __init__(self, text: Callable[[str], bytes], whole: Callable[[str], bytes]) -> None:
        """`text`: what stands between white space in a file. `whole`: the file; a name may have blanks."""
        self._text, self._whole = text, whole
        self._names: frozenset[bytes] = frozenset()
        self._asked: dict[str, int] = {}
        self._said: dict[str, frozenset[bytes]] = {}  # by file: which of `_names` it contains

    def will_ask(self, names: Iterable[bytes]) -> None:
        """Names that will be asked for. All other names, and names that are no words, are searched for in the text."""
        self._names = self._names.union(name for name in names if _WORD.fullmatch(name))
        self._said.clear()

    def saying(self, paths: Iterable[str], name: bytes) -> Iterator[str]:
        """Those of some files that may contain a name."""
        known, is_known = self._said, name in self._names
        for path in paths:
            said = known.get(path) if is_known else None
            if name in said if said is not None else self.may_say(path, name):
                yield path

    def may_say(self, path: str, name: bytes) -> bool:
        """False if a file does not contain a name as a word of its own. True may be wrong."""
        said = self._said.get(path)
        if said is not None and name in self._names:
            return name in said
        text, asked = self._text(path), self._asked.get(path, 0)
        if said is None and asked >= _OFTEN:
            self._said[path] = self._names.intersection(text.translate(_OTHERS).split())
        self._asked[path] = asked + 1
        return name in text or b" " in name and name in self._whole(path)
