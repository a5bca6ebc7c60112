"""rules/dumps/*.toml read and checked: once per change of the files, not per start."""

from __future__ import annotations

from collections.abc import Iterable

from porter.rulebook.compiled import Section
from porter.rulebook.toml_stanzas import checked, expressions

_STANZAS = {"kind": {"name", "patterns", "only"}, "same": {"names"}}
_OPTIONAL = {"only"}


def build(files: Iterable[tuple[str, bytes]]) -> dict[str, Section]:
    """`{"stanzas": {kind: rows}}` of (name, bytes) pairs."""
    found: dict[str, list[Section]] = {kind: [] for kind in _STANZAS}
    for kind, where, row in checked(files, _STANZAS, _OPTIONAL):
        expressions(row.get("patterns", ()), where)
        found[kind].append(row)
    return {"stanzas": dict(found)}
