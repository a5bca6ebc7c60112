"""rules/words/*.toml read and checked: every text in both languages. Once per change of the files, not per start."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.rulebook.errors import RuleError
from porter.rulebook.schema import PLACEHOLDER, languages, other_placeholders
from porter.rulebook.table import LANGUAGES


def build(files: Iterable[tuple[str, bytes]]) -> dict[str, dict[str, dict[str, str]]]:
    """`{room: {language: {key: text}}}` of (name, bytes) pairs."""
    import tomli

    rooms = {}
    for name, data in files:
        try:
            text = data.decode("utf-8")
            parsed = tomli.loads(text)
        except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RuleError(f"{name}: {error}") from None
        for key, value in parsed.items():
            if wrong := languages(value) or other_placeholders(value) or _braces(value):
                raise RuleError(f"{name}:{_line(text, key)}: {key!r} {wrong}")
        room = name.rpartition("/")[2].removesuffix(".toml")
        rooms[room] = {lang: {key: value[lang] for key, value in parsed.items()} for lang in LANGUAGES}
    return rooms


def _braces(value: dict[str, str]) -> str | None:
    """What is no placeholder and looks like one fails when the text is said."""
    langs = [lang for lang, text in value.items() if {"{", "}"} & {*PLACEHOLDER.sub("", text)}]
    return f"has a brace in {langs[0]!r} that belongs to no {{placeholder}}" if langs else None


def _line(text: str, key: str) -> int:
    """Where a key stands. TOML allows other ways to write one; then it is line 1."""
    match = re.search(rf"""^[ \t]*\[?["']?{re.escape(key)}["']?[ \t]*[=\].]""", text, re.MULTILINE)
    return 1 + text.count("\n", 0, match.start()) if match else 1
