"""What a file sets, whatever its kind: one value, and where it stands."""

from __future__ import annotations

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
