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
    """Packages without a wheel for the processor of most NPU hosts, and without sources. What has to be raised first is raised to one
    that may have it."""
    lacking = [want for want in requirements if want.kind != "conda" and _lacks_aarch64(want, first_python(torch))]
    if lacking:
        shown = ", ".join(f"{want.name}{want.spec}" for want in lacking)
        yield Hit((lacking[0].start, lacking[0].end), "aarch64", code="PRT840", values=named(name=shown))


def _lacks_aarch64(want: Asked, python: tuple[int, int]) -> bool:
    rows = load().pins.get(f"aarch64:{want.name}")
    if not rows or "machine" in want.marker:
        return False
    [(_, first)] = rows
    if want.spec and (last := last_python(want.spec, load().wheels.get(want.name, ()))) and last < python:
        return False
    return first == _NONE or bool(want.spec) and not reaches(want.spec, first)
