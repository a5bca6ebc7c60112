"""Shortens long texts to what a search for single words asks of them: pages, lists of data, notebooks with their pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_lowercase, ascii_uppercase

from porter.regex import lazy

_FOLDED = bytes.maketrans(b"-" + ascii_uppercase.encode(), b"_" + ascii_lowercase.encode())
_PICTURE = lazy(rb"\"image/[\w.+-]+\":[ \t]*\"[^\"]*\"")  # in a notebook: letters and signs that say nothing
_PICTURES = b'"image/'


def gist_of(text: bytes) -> bytes:
    """What stands between white space in a text, each once: a word is in it where it is in the text, outside of pictures."""
    if _PICTURES in text:
        text = _PICTURE.sub(b"", text)
    return b"\n".join(dict.fromkeys(text.split()))


def folded(text: bytes) -> bytes:
    """A text in which all spellings of a word are one, so that it is searched once."""
    return text.translate(_FOLDED)


class Gists:
    """Of the files of a project, what a search for a word asks. It stays in memory; most long texts do not."""

    def __init__(self, text: Callable[[str], bytes], known: Mapping[str, bytes]) -> None:
        """`known`: the texts that stay in memory as they are, once they are asked for."""
        self._text, self._known = text, known
        self._gists: dict[str, bytes] = {}
        self._folded: dict[str, bytes] = {}

    def of(self, path: str) -> bytes:
        gist = self._gists.get(path)
        if gist is None:
            gist = self._text(path)
            if path not in self._known:
                gist = self._gists[path] = gist_of(gist)
        return gist

    def folded(self, path: str) -> bytes:
        text = self._folded.get(path)
        if text is None:
            text = self._folded[path] = folded(self.of(path))
        return text
