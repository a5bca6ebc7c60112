"""FILE:LINE and FILE:LINE:COLUMN, as a command line names a place."""

from __future__ import annotations

from typing import NamedTuple

from porter.regex import lazy

_PLACE = lazy(r"(.+?):(\d+)(?::(\d+))?:?$")  # names of APIs and packages have no colon; a drive of Windows has


class Place(NamedTuple):
    file: str
    line: int
    column: int  # 0 where none is given


def place_of(name: str) -> Place | None:
    match = _PLACE.match(name)
    return Place(match[1], int(match[2]), int(match[3] or 0)) if match else None
