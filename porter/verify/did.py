"""What two runs did, event by event: the first things that the port did otherwise than the original, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from porter.verify.edited import Edited
from porter.verify.places import Places

SETTING, ARGUMENTS, NUMBERS, ONLY_ORIGINAL, ONLY_PORT = "setting", "arguments", "numbers", "only-original", "only-port"
CHANGED = "changed"
_END = "end"  # told last by a process that was not killed
_FURTHEST = 400  # events that one side may have more, where both go on alike
_ALIKE = 4  # that many in a row
_MOST = 64  # differences after which nothing is looked for any more
_TOLD = 6


class Event(NamedTuple):
    name: str  # of an operator, with `::`, or of what the program decides in Python
    where: str
    given: str
    result: str = ""

    @property
    def decides(self) -> bool:
        return "::" not in self.name and self.name != "backward"

    def same(self, other: Event) -> bool:
        return self.name == other.name and self.given == other.given and self.result == other.result


@dataclass(frozen=True, slots=True)
class Parting:
    kind: str
    name: str
    where: str  # in the port; what only the original does would stand there
    original_where: str
    original: str = ""  # of a setting, what it is
    ported: str = ""


def read(folder: Path) -> list[list[Event]]:
    """By process: of the first rank, and of one rank that began first, the first."""
    found = []
    for path in sorted(folder.glob("*.events"), key=lambda path: tuple(map(int, path.stem.split("-")))):
        whole = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]  # the last may be cut off
        rows = (line.split("\t") for line in whole)
        events = [Event(*row) for row in rows if len(row) in (3, 4)]
        if any(event.name != _END for event in events):  # else a launcher, say
            found.append(events)
    return found


def partings(original: Sequence[list[Event]], port: Sequence[list[Event]], places: Places) -> tuple[Parting, ...]:
    """The first things that are otherwise, of the first process that has any. What a process of the port that was killed,
    with another rank, say, had done last is not known."""
    for one, other in zip(original, port):
        found: dict[tuple[str, str, str], Parting] = {}
        for parting in _ordered(one, other, places):  # what comes again in each step is one
            found.setdefault((parting.kind, parting.name, parting.where), parting)
        if found:
            return tuple(islice(found.values(), _TOLD))
    return ()


def suspects(
    found: Sequence[Parting], edited: Edited, ran: Collection[tuple[str, int]], places: Places
) -> tuple[Parting, ...]:
    """Where nothing of that stands at a line that was changed, the changed statements that ran: what they do on the host is
    no event."""
    if any(places.is_changed(parting.where) for parting in found):
        return ()
    return tuple(Parting(CHANGED, "", where, "") for where in islice(rewritten(edited, ran, places), _TOLD))


def rewritten(edited: Edited, ran: Collection[tuple[str, int]], places: Places) -> Iterator[str]:
    """The changed statements that ran and say something else than the original's with its names exchanged."""
    for path, statements in edited.items():
        for first, last in statements:
            lines = range(first, last + 1)
            if any((path, line) in ran for line in lines):
                yield from [f"{path}:{line}" for line in lines if places.is_rewritten(f"{path}:{line}")][:1]


def _ordered(one: list[Event], other: list[Event], places: Places) -> list[Parting]:
    """What is decided otherwise, or done otherwise at a line that was changed, and then where the numbers part. What both
    sides got over elsewhere is a library that goes another way."""
    found, ended = _differences(one, other, places)
    told = [parting for parting in found if "::" not in parting.name or places.is_changed(parting.where)]
    if ended is not None:
        told.append(ended)
    return told or [parting for parting in found if parting.kind in (ARGUMENTS, NUMBERS)]


def _differences(one: list[Event], other: list[Event], places: Places) -> tuple[list[Parting], Parting | None]:
    is_whole = any(event.name == _END for event in other[-1:])
    one, other = ([event for event in events if event.name != _END] for events in (one, other))
    found: list[Parting] = []
    i = j = 0
    while len(found) < _MOST:
        while i < len(one) and j < len(other) and one[i].same(other[j]):
            i, j = i + 1, j + 1
        a = one[i] if i < len(one) else None
        b = other[j] if j < len(other) else None
        if a is None and b is None or b is None and not is_whole:
            break
        if a and b and a.name == b.name and places.correspond(a.where, b.where):
            parting = _otherwise(a, b)
            i, j = i + 1, j + 1
            if not a.decides and not _alike(one, i, other, j):
                return found, parting
            found.append(parting)  # nobody uses it: memory that was not written to, say
        elif skipped := _again(one, i, other, j):
            found += [_only(event, places, True) for event in one[i : i + skipped[0]]]
            found += [_only(event, places, False) for event in other[j : j + skipped[1]]]
            i, j = i + skipped[0], j + skipped[1]
        else:
            return found, _last(a, b, places)
    return found, None


def _otherwise(a: Event, b: Event) -> Parting:
    if a.decides:
        return Parting(SETTING, a.name, b.where, a.where, a.given, b.given)
    return Parting(NUMBERS if a.given == b.given else ARGUMENTS, a.name, b.where, a.where)


def _only(event: Event, places: Places, original: bool) -> Parting:
    if original:
        return Parting(ONLY_ORIGINAL, event.name, places.in_port(event.where), event.where, event.given)
    return Parting(ONLY_PORT, event.name, event.where, "", "", event.given)


def _last(a: Event | None, b: Event | None, places: Places) -> Parting:
    """From here on nothing is alike: of the two sides, the one that stands in what was changed."""
    if a is not None and (b is None or places.is_changed(places.in_port(a.where))):
        return _only(a, places, True)
    assert b is not None
    return _only(b, places, False)


def _again(one: list[Event], i: int, other: list[Event], j: int) -> tuple[int, int] | None:
    """How many events of each side have no partner, before both go on alike."""
    for total in range(1, _FURTHEST):
        for left in range(total + 1):
            if _alike(one, i + left, other, j + total - left):
                return left, total - left
    return None


def _alike(one: list[Event], i: int, other: list[Event], j: int) -> bool:
    left, right = one[i : i + _ALIKE], other[j : j + _ALIKE]
    return bool(left) and len(left) == len(right) and all(a.same(b) for a, b in zip(left, right))
