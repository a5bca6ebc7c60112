"""rules/advice as plain data, compiled in the cache like the rules."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from porter.regex import lazy
from porter.resources import rules_dir
from porter.rulebook import compiled
from porter.rulebook.table import Stanza

BUILDER = "porter.advice.schema"


class Names(NamedTuple):
    """What is looked for in the files of a repository."""

    keys: dict[str, tuple[str, ...]]  # how a setting is spelled, in lower case with _ -> what it is
    needs: dict[str, bytes]  # what it is -> only in settings files that say this
    arguments: dict[str, list[Stanza]]  # of these calls, by resolved name
    # name, words of which a line has one, whether also in strings, pattern
    signs: tuple[tuple[str, tuple[bytes, ...], bool, re.Pattern[bytes]], ...]
    imports: frozenset[str]


def directory() -> Path:
    return rules_dir() / "advice"


@lru_cache(maxsize=1)
def names() -> Names:
    data = compiled.section(directory(), "names", BUILDER)
    arguments: dict[str, list[Stanza]] = {}
    for row in data["arguments"]:
        for call in row["call"]:
            arguments.setdefault(call, []).append(row)
    return Names(
        data["keys"],
        {name: text.encode() for name, text in data["needs"].items()},
        arguments,
        tuple((n, tuple(w.encode() for w in words), s, lazy(p.encode())) for n, words, s, p in data["signs"]),
        frozenset(data["imports"]),
    )


@lru_cache(maxsize=1)
def advice() -> dict[str, list[Stanza]]:
    """`source`, `model` and `advice` stanzas."""
    return compiled.section(directory(), "advice", BUILDER)


def index() -> dict[str, list[Stanza]]:
    """`guide` and `entry` stanzas: what the migration guides say, and what answers it."""
    return compiled.section(directory(), "index", BUILDER)
