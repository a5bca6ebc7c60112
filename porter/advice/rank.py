"""Which pieces of advice a repository gets, most important first, each with the places that call for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from porter.advice import load
from porter.advice.computed import computed
from porter.advice.schema import CHAPTERS
from porter.advice.triggers import places
from porter.advice.world import Place, World
from porter.rulebook.table import Stanza

PLACES = 4


class Advice(NamedTuple):
    row: Stanza
    places: tuple[Place, ...]  # the first few
    number: int  # of all
    score: int
    given: dict[str, str]  # what its snippet is filled with

    def text(self, key: str, lang: str) -> str:
        """`title` or `text`, with the value that calls for it."""
        text: str = self.row[key][lang]
        return text.replace("{value}", self.places[0].value)

    def snippet(self) -> str:
        """ "" where there is none, or where it needs a value that is not known."""
        text: str = self.row.get("snippet", "").strip("\n")
        if "computed" in self.row:
            text = _filled(text, self.given)
        return text


def advise(world: World, launchers: Iterable[str] = ()) -> list[Advice]:
    """By chapter, in it by score. `launchers`: scripts that start the training; what they say weighs more."""
    data = load.advice()
    for model in data["model"]:  # each may ask for those above it
        if held := _held(model, world):
            world.models[model["name"]] = held
    first = frozenset(launchers)
    given = []
    for row in data["advice"]:
        if world.soc in row.get("soc", (world.soc,)) and (held := _held(row, world)):
            filled = computed(row["computed"], held, world) if "computed" in row else {}
            given.append(Advice(row, tuple(_spread(held)), len(held), _score(row, held, first), filled))
    return sorted(given, key=lambda a: (CHAPTERS.index(a.row["chapter"]), -a.score, a.row["id"]))


def _filled(text: str, given: dict[str, str]) -> str:
    for key, value in given.items():
        text = text.replace(f"{{{key}}}", value)
    return text if given else ""


def _held(row: Stanza, world: World) -> list[Place]:
    """What calls for it and is not spoken against: in a collection each project speaks for itself."""
    supporting = places(row["when"], world)
    against = places(row.get("unless", ()), world) if supporting else []
    excused = frozenset(world.near(supporting, against))
    return [place for place in supporting if place not in excused]


def _spread(held: list[Place]) -> list[Place]:
    """Of each file the first place, as long as there is room; then the others, in their order."""
    by_path: dict[str, Place] = {}
    for place in held:
        by_path.setdefault(place.path, place)
    firsts = list(by_path.values())
    return [*firsts, *(p for p in held if p not in firsts)][:PLACES]


def _score(row: Stanza, held: list[Place], launchers: frozenset[str]) -> int:
    priority: int = row["priority"]
    return priority + min(len({p.path for p in held}) - 1, 5) + 5 * any(p.path in launchers for p in held)
