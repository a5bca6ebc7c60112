"""A device that a mapping takes to a simulator without NPUs: no other place has its value."""

from __future__ import annotations

from porter.engine.facts import OwnCode
from porter.engine.rule import Hit, named
from porter.project.simulators import taker
from porter.rulebook.table import Setting
from porter.text.settings.entries import Entry, Settings


def of_simulator(own: OwnCode, settings: Settings, row: Setting, entry: Entry) -> Hit | None:
    if row.kind != "device" or not own.simulated:
        return None
    above = entry.path[:-1]
    beside = (other.path[len(above)] for other in settings.entries if _is_below(other.path, above))
    one = taker(own.simulated, entry.path, beside)
    if one is None:
        return None
    values = named(name=".".join(entry.path[-2:]), old=entry.value, library=one.library, path=one.path)
    return Hit((entry.start, entry.end), "simulator", code=row.code, values=values)


def _is_below(path: tuple[str, ...], above: tuple[str, ...]) -> bool:
    return len(path) > len(above) and path[: len(above)] == above
