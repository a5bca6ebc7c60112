"""Whether a condition of rules/advice holds, and which places of the repository say so.

Each test of a value stands in `fits`, those of numbers also in `_within`; each part of a condition stands in `_PARTS`. The
schema refuses what it does not know: its TESTS and WHERE have the same names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from porter.advice.world import Place, World
from porter.rulebook.table import Stanza


def places(conditions: Iterable[Stanza], world: World) -> list[Place]:
    """The places of all conditions that hold, in the order of the conditions. One condition that holds is enough."""
    places: dict[Place, None] = {}
    for condition in conditions:
        for place in of_condition(condition, world) or ():
            places.setdefault(place)
    return list(places)


def of_condition(condition: Stanza, world: World) -> list[Place] | None:
    """The places of one condition; None where one of its parts does not hold."""
    places: list[Place] = []
    for key, get in _PARTS.items():
        if key in condition:
            part = get(condition, world)
            if not part:
                return None
            # The first part, in the order of _PARTS, gives the places. Each other part must hold; in a collection of projects
            # it keeps only places in the same project.
            places = world.near(places, part) if places else sorted(part, key=lambda place: place.order)
            if not places:
                return None
    return places


def _values(condition: Stanza, world: World) -> list[Place]:
    return [p for name in condition["value"] for p in world.values.get(name, ()) if fits(p, condition, world)]


def _findings(condition: Stanza, world: World) -> list[Place]:
    return [p for code in condition["finding"] for p in world.findings.get(code, ())]


def _apis(condition: Stanza, world: World) -> list[Place]:
    places = []
    for name in condition["api"]:
        if name.endswith("*"):
            places += [p for api, rows in world.apis.items() if api.startswith(name[:-1]) for p in rows]
        else:
            places += world.apis.get(name, ())
    return places


def _listed(key: str, table: str) -> Callable[[Stanza, World], list[Place]]:
    return lambda condition, world: [p for name in condition[key] for p in getattr(world, table).get(name, ())]


_PARTS = {
    "finding": _findings,
    "value": _values,
    "sign": _listed("sign", "signs"),
    "api": _apis,
    "import": _listed("import", "imports"),
    "model": _listed("model", "models"),
}


def number(value: str) -> float | None:
    try:
        return float(value.replace("_", ""))
    except ValueError:
        return None


def fits(place: Place, condition: Stanza, world: World) -> bool:
    """Whether one value passes the tests of a condition."""
    text = place.value.lower()
    if "is" in condition and text not in condition["is"] or text in condition.get("not", ()):
        return False
    if "says" in condition and not re.search(condition["says"], text):
        return False
    if not {"above", "below", "odd", "beyond"}.isdisjoint(condition):
        value = number(place.value)
        if value is None or not _within(value, place.path, condition, world):
            return False
    if any(_beside(place, other, world) for other in condition.get("without", ())):
        return False
    return all(_beside(place, other, world) for other in condition.get("with", ()))


def _within(value: float, path: str, condition: Stanza, world: World) -> bool:
    if "above" in condition and not value > condition["above"]:
        return False
    if "below" in condition and not value < condition["below"]:
        return False
    if "odd" in condition and (value <= 0 or value % condition["odd"] == 0):  # no multiple of it
        return False
    if "beyond" in condition:  # larger than every value of that name in the same file
        others = [n for p in world.values.get(condition["beyond"], ()) if p.path == path and (n := number(p.value))]
        if not others or value <= max(others):
            return False
    return True


def _beside(place: Place, condition: Stanza, world: World) -> bool:
    """Whether the same file says what another condition asks for."""
    return any(p.path == place.path for p in of_condition(condition, world) or ())
