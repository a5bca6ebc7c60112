"""rules/checkpoint/*.toml read and checked: once per change of the files, not per start."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.rulebook.compiled import Section
from porter.rulebook.errors import RuleError
from porter.rulebook.toml_stanzas import placed

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
    for name, data in files:
        for kind, where, row in placed(name, data, _STANZAS):
            _check(kind, row, where)
            found[kind].append(row)
    return {"stanzas": dict(found)}


def _check(kind: str, row: Section, where: str) -> None:
    if unknown := row.keys() - _STANZAS[kind]:
        raise RuleError(f"{where}: unknown key {min(unknown)!r}")
    if missing := _STANZAS[kind] - _OPTIONAL - row.keys():
        raise RuleError(f"{where}: {min(missing)!r} is missing")
    patterns = [row[_PATTERNS[kind]]] if kind in _PATTERNS else row["names"] if kind in ("allowed", "runs") else []
    if kind == "rename":
        patterns = [pattern for pattern, _ in row["names"]]
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise RuleError(f"{where}: {pattern!r}: {error}") from None
