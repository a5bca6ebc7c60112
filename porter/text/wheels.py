"""What the wheels of a package leave: Pythons, and processors of NPU hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from porter.engine.rule import Hit, named
from porter.rulebook.table import Wheels, load
from porter.target import first_python
from porter.text.asked import Asked
from porter.versions import LATEST, reaches, release

_NONE = "none"


def last_python(spec: str, firsts: Wheels) -> tuple[int, ...] | None:
    """The last Python before the first that no version which a requirement takes has wheels for."""
    missing = next((python for python, lines in firsts if not _reaches(spec, lines)), None)
    if missing is None:
        return None
    major, minor = release(missing, 2)
    return major, minor - 1


def _reaches(spec: str, lines: str) -> bool:
    """Whether a requirement takes a version with wheels. `3.4.8.29 4.1.2.30`: from both on, and 4.0 has none."""
    starts = lines.split(" ")
    ends = (f"{release(start)[0]}.0" for start in starts[1:])
    return any(reaches(spec, start, end) for start, end in zip_longest(starts, ends, fillvalue=LATEST))


def without_aarch64(requirements: Sequence[Asked], torch: Sequence[int]) -> Iterator[Hit]:
    """Packages without a wheel for the processor of most NPU hosts, and without sources; last those of which a later version has one."""
    lacking = [(want, first) for want in requirements if (first := _first_on_aarch64(want, first_python(torch)))]
    for why, rows in (
        ("aarch64", [r for r in lacking if r[1] == _NONE]),
        ("aarch64-later", [r for r in lacking if r[1] != _NONE]),
    ):
        if rows:
            shown = ", ".join(f"{want.name}{want.spec}" for want, _ in rows)
            new = ", ".join(dict.fromkeys(f"{want.name}>={first}" for want, first in rows))
            yield Hit((rows[0][0].start, rows[0][0].end), why, code="PRT840", values=named(name=shown, new=new))


def _first_on_aarch64(want: Asked, python: tuple[int, int]) -> str:
    """The version from which on there is one, or `none`, where a requirement takes none that has one; else "". What has to be raised
    for its Python first is raised to one that may have it."""
    rows = load().pins.get(f"aarch64:{want.name}")
    if not rows or "machine" in want.marker or want.kind == "conda" or want.optional:
        return ""
    [(_, first)] = rows
    if want.spec and (last := last_python(want.spec, load().wheels.get(want.name, ()))) and last < python:
        return ""
    return first if first == _NONE or want.spec and not reaches(want.spec, first) else ""
