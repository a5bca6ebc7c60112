"""rules/dumps/*.toml read and checked: once per change of the files, not per start."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.rulebook.compiled import Section
from porter.rulebook.errors import RuleError
from porter.rulebook.toml_stanzas import placed

_STANZAS = {"kind": {"name", "patterns", "only"}, "same": {"names"}}
_OPTIONAL = {"only"}


def build(files: Iterable[tuple[str, bytes]]) -> dict[str, Section]:
    """`{"stanzas": {kind: rows}}` of (name, bytes) pairs."""
    found: dict[str, list[Section]] = {kind: [] for kind in _STANZAS}
    for name, data in files:
        for kind, where, row in placed(name, data, _STANZAS):
            if unknown := row.keys() - _STANZAS[kind]:
                raise RuleError(f"{where}: unknown key {min(unknown)!r}")
            if missing := _STANZAS[kind] - _OPTIONAL - row.keys():
                raise RuleError(f"{where}: {min(missing)!r} is missing")
            for pattern in row.get("patterns", ()):
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise RuleError(f"{where}: {pattern!r}: {error}") from None
            found[kind].append(row)
    return {"stanzas": dict(found)}
