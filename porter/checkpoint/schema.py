"""rules/checkpoint/*.toml read and checked: once per change of the files, not per start."""

from __future__ import annotations

from collections.abc import Iterable

from porter.rulebook.compiled import Section
from porter.rulebook.toml_stanzas import checked, expressions

# stanza -> its keys
_STANZAS = {
    "section": {"weights"},
    "aside": {"pattern"},
    "wrapper": {"names"},
    "rename": {"of", "names"},
    "joined": {"whole", "parts", "groups"},
    "without": {"pattern", "of"},
    "sharded": {"axis", "pattern"},
    "allowed": {"names"},
    "runs": {"names"},
    "instructions": {"names"},
}
_OPTIONAL = {"groups"}
_PATTERNS = {"aside": "pattern", "without": "pattern", "sharded": "pattern", "joined": "whole"}


def build(files: Iterable[tuple[str, bytes]]) -> dict[str, Section]:
    """`{"stanzas": {kind: rows}}` of (name, bytes) pairs."""
    found: dict[str, list[Section]] = {kind: [] for kind in _STANZAS}
    for kind, where, row in checked(files, _STANZAS, _OPTIONAL):
        expressions(_patterns(kind, row), where)
        found[kind].append(row)
    return {"stanzas": dict(found)}


def _patterns(kind: str, row: Section) -> list[str]:
    if kind == "rename":
        return [pattern for pattern, _ in row["names"]]
    return [row[_PATTERNS[kind]]] if kind in _PATTERNS else row["names"] if kind in ("allowed", "runs") else []
