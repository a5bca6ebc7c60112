"""Which pieces of advice a repository gets, most important first, each with the places that call for it.

Ten are shown at most. What is worth less here is folded, and so is what most repositories that train call for (`often`, in percent):
it is as true, and says nothing about this one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from porter.advice import load
from porter.advice.computed import computed
from porter.advice.schema import CHAPTERS
from porter.advice.triggers import of_condition, places
from porter.advice.world import Place, World
from porter.rulebook.table import Stanza

PLACES = 4
SHOWN = 10
MOST = 60  # percent of repositories: what so many call for is said of a training run, not of this one
LEAST = 25  # what is worth less than this is not shown, whatever room there is
OFTEN, ASIDE = 2, 15  # percent that cost a point; points that examples cost
HERE, LESS, COMMON = "here", "less", "common"


class Advice(NamedTuple):
    row: Stanza
    places: tuple[Place, ...]  # the first few
    number: int  # of all
    score: int
    given: dict[str, str]  # what its snippet is filled with
    standing: str = HERE

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
    """By chapter, in it by what it is worth here. `launchers`: scripts that start the training; what they say weighs more."""
    data = load.advice()
    for model in data["model"]:  # each may ask for those above it
        if held := _held(model, world):
            world.models[model["name"]] = held
    first = frozenset(launchers)
    given = []
    for row in data["advice"]:
        if world.soc in row.get("soc", (world.soc,)) and (held := _held(row, world)):
            filled = computed(row["computed"], held, world) if "computed" in row else {}
            given.append(Advice(row, tuple(_spread(held)), len(held), _score(row, held, world, first), filled))
    stood = [a._replace(standing=COMMON if a.row.get("often", 0) >= MOST else LESS) for a in given]
    ranked = sorted((a for a in stood if a.standing == LESS), key=lambda a: (-a.score, a.row["id"]))
    shown = {a.row["id"] for a in ranked[:SHOWN] if a.score >= LEAST}
    stood = [a._replace(standing=HERE) if a.row["id"] in shown else a for a in stood]
    return sorted(stood, key=lambda a: (CHAPTERS.index(a.row["chapter"]), -a.score, a.row["id"]))


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


def _score(row: Stanza, held: list[Place], world: World, launchers: frozenset[str]) -> int:
    """Its priority; more for what many files and the launcher say, and for what else here makes it matter; less the more
    repositories call for it, and where nothing but examples does."""
    score: int = row["priority"] - row.get("often", 0) // OFTEN
    score += min(len({p.path for p in held}) - 1, 5) + 5 * any(p.path in launchers for p in held)
    score -= ASIDE * all(p.order[0] for p in held)
    for more in row.get("worth", ()):
        if of_condition(more, world):
            score += more["adds"]
    return score
