"""The options of a command as settings: `--name value`, `--name=value`, a flag alone, and overrides such as trainer.nnodes=2."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.checklist.expand import UNKNOWN
from porter.checklist.schema import key_of
from porter.checklist.setting import ENVIRONMENT, Setting
from porter.regex import lazy

OPTION = lazy(r"--[A-Za-z][\w.-]*(?==|$)")
OVERRIDE = lazy(r"[+~]{0,2}([A-Za-z_][\w-]*(?:\.[\w-]+)+)=(.*)", re.DOTALL)
_SPELLED = lazy(r"(?<![\w-])(?:--[A-Za-z][\w.-]*|[A-Za-z_][\w.-]*(?==))")
_FILE = lazy(r"[^\s=]*\.(?:ya?ml|json|toml)")


def settings_of(words: list[str], environment: dict[str, str], text: str) -> list[Setting]:
    """What a command is started with. `text`: of the script, for the lines."""
    places = _places(text)
    found = [
        Setting((ENVIRONMENT, key_of(name)), value, name, places.get(name, 0)) for name, value in environment.items()
    ]
    found += [
        Setting(tuple(map(key_of, name.lstrip("-").split("."))), value, name, places.get(name, 0))
        for name, value in pairs(words)
    ]
    return found


def pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Options with their values, "true" where there is none; and overrides of the form a.b=c."""
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if override := OVERRIDE.fullmatch(word):
            yield override[1], override[2]
            continue
        option = OPTION.match(word)
        if option is None:
            continue
        if "=" in word:
            yield option[0], word.partition("=")[2]
            continue
        values: list[str] = []
        while at < len(words) and not _ends_values(words[at]):
            if not (values and words[at].startswith(UNKNOWN)):  # a variable that may hold more options
                values.append(words[at])
            at += 1
        yield option[0], f"[{', '.join(values)}]" if len(values) > 1 else values[0] if values else "true"


def _ends_values(word: str) -> bool:
    is_option = word.startswith("-") and not re.match(r"-[\d.]", word)
    return is_option or word.endswith(".py") or bool(OVERRIDE.fullmatch(word)) or word in ("|", "&", ";")


def mentioned(words: list[str]) -> list[str]:
    """Files of settings that a command is handed."""
    values = [word.rpartition("=")[2] for word in words]
    return [value for value in values if _FILE.fullmatch(value)]


def _places(text: str) -> dict[str, int]:
    """The lines in which options, overrides and variables are spelled last, outside of comments."""
    places: dict[str, int] = {}
    for number, row in enumerate(text.split("\n"), 1):
        if not row.lstrip().startswith("#"):
            places.update(dict.fromkeys(_SPELLED.findall(row), number))
    return places
