"""What porter says beside its findings: rules/words/<room>.toml, of which only the room that is asked for is loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from porter.resources import rules_dir
from porter.rulebook import compiled
from porter.rulebook.table import LANGUAGES


@cache
def words(room: str, lang: str) -> dict[str, str]:
    """The texts of a room in one language, in the order of the file, with their {placeholders}."""
    texts: dict[str, str] = compiled.section(rules_dir() / "words", room, "porter.rulebook.schema_words")[lang]
    return texts


def speaker(room: str) -> Callable[..., str]:
    """`say(key, lang, **values)` of a room: a text with its placeholders filled."""

    def say(key: str, lang: str, **values: object) -> str:
        return words(room, lang)[key].format(**values)

    return say


def both(room: str, key: str) -> dict[str, str]:
    """A text in every language, as it stands."""
    return {lang: words(room, lang)[key] for lang in LANGUAGES}
