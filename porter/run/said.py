"""What a run over many files says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from porter.engine.facts import Facts
from porter.finding import FileResult

OUTSIDE = frozenset(  # keys of PRT003
    {"unreadable", "too-large", "too-large-source", "data", "settings", "changed", "vanished"}
    | {"binary", "special", "outside"}
)


class Said(NamedTuple):
    files: list[FileResult]
    facts: Facts


def is_broken(files: Iterable[FileResult]) -> bool:
    """Did porter fail, or break a promise? Files that are odd do not count."""
    return any(f.code == "PRT003" and f.why not in OUTSIDE for file in files for f in file.findings)


def may_pass(files: Sequence[FileResult]) -> bool:
    """Is something said that the next run may not say of the same bytes? Porter failed, or memory was short."""
    return is_broken(files) or any((f.code, f.why) == ("PRT002", "memory") for file in files for f in file.findings)
