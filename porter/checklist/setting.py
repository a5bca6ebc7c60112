"""What a file sets, whatever its kind: one value, and where it stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

ENVIRONMENT = "env"  # the first key of a variable


@dataclass(frozen=True, slots=True)
class Setting:
    path: tuple[str, ...]  # keys as `key_of` makes them
    value: str
    name: str  # as written
    line: int


@dataclass
class Source:
    """One file. `dialects`: what kinds of settings it has, by rules/checklist."""

    name: str
    kind: str  # script | json | yaml | toml | log
    settings: list[Setting]
    dialects: tuple[str, ...] = ()
    notes: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)  # other files of settings that it hands on


class Lines:
    """Which line a character stands in, however many are asked for."""

    def __init__(self, text: str):
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def of(self, offset: int) -> int:
        return bisect_right(self._starts, offset)
