"""Finds the imports of a text by its lines. Questions about a whole repository use this, as parsing would cost too much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from porter.regex import lazy

_STATEMENT = lazy(
    rb"[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import\b(?:[ \t]+(\w*))?"
    rb"|import[ \t]+([\w.]+[^\n#;]*))"
)


class Import(NamedTuple):
    offset: int  # where its line begins
    modules: tuple[str, ...]  # with leading dots; several of `import a, b`
    name: str  # `b` of `from a import b, c`


def imports(text: bytes) -> Iterator[Import]:
    """The imports, in the order of the text. It is searched for the word first, as most lines import nothing."""
    offset = text.find(b"import")
    while offset >= 0:
        start = text.rfind(b"\n", 0, offset) + 1
        if match := _STATEMENT.match(text, start):
            listed = match[3].split(b",") if match[3] else [match[1]]
            modules = tuple(part.split()[0].decode("utf-8", "replace") if part.strip() else "" for part in listed)
            yield Import(start, modules, (match[2] or b"").decode("utf-8", "replace"))
        offset = text.find(b"import", max(text.find(b"\n", offset), offset + 1))
