"""Finds the imports of a text by its lines. Questions about a whole repository use this, as parsing would cost too much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from porter.regex import lazy

_STATEMENT = lazy(
    rb"[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import\b[ \t(]*([\w \t,]*)"
    rb"|import[ \t]+([\w.]+[^\n#;]*))"
)


class Import(NamedTuple):
    offset: int  # where its line begins
    modules: tuple[str, ...]  # with leading dots; several of `import a, b`
    names: tuple[str, ...]  # b and c of `from a import b, c as d`, as far as they stand on its line


def imports(text: bytes) -> Iterator[Import]:
    """The imports, in the order of the text. It is searched for the word first, as most lines import nothing."""
    offset = text.find(b"import")
    while offset >= 0:
        start = text.rfind(b"\n", 0, offset) + 1
        if match := _STATEMENT.match(text, start):
            yield Import(start, _words(match[3] or match[1]), _words(match[2] or b""))
        offset = text.find(b"import", max(text.find(b"\n", offset), offset + 1))


def _words(listed: bytes) -> tuple[str, ...]:
    """`a` and `b` of `a as c, b`."""
    return tuple(words[0].decode("utf-8", "replace") for part in listed.split(b",") if (words := part.split()))
