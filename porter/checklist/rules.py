"""rules/checklist, as the code asks for it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from porter.regex import lazy
from porter.resources import rules_dir
from porter.rulebook import compiled
from porter.rulebook.table import Stanza

BUILDER = "porter.checklist.schema"


class Spelling(NamedTuple):
    """One way to say an item: where the name says the opposite, counts what it lists, or stands for a value."""

    item: str
    dialect: str  # "" in every kind of file
    opposite: bool
    counts: bool
    at: int | None  # of a list
    implied: bool  # that the name is there says it
    value: str | None  # what it stands for where it is true


class Checklist(NamedTuple):
    items: dict[str, Stanza]
    sources: dict[str, Stanza]
    dialects: list[Stanza]
    names: dict[str, tuple[Spelling, ...]]
    derived: list[tuple[str, list[str], str]]  # an item, what it follows from, and where it does not
    inside: frozenset[str]
    aside: re.Pattern[str]


@lru_cache(maxsize=1)
def checklist() -> Checklist:
    data: dict[str, Any] = compiled.section(rules_dir() / "checklist", "checklist", BUILDER)
    names = {key: tuple(Spelling(*row) for row in rows) for key, rows in data["names"].items()}
    derived = [(item, list(terms), unless) for item, terms, unless in data["derived"]]
    return Checklist(
        data["items"], data["sources"], data["dialects"], names, derived, frozenset(data["inside"]), lazy(data["aside"])
    )
