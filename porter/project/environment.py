"""Finds the environment variables of rules/env.toml that a repository needs on NPUs, and the places that call for each.

`porter env` writes them into a file, and the report shows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from porter.files.kinds import kind_of
from porter.files.script_texts import ASIDE, LARGEST, MARK, SPEAKS
from porter.finding import FileResult
from porter.regex import lazy

_SET = frozenset({"PRT801", "PRT802", "PRT803"})  # a file with one of these codes sets variables
# commands that start several processes
_DISTRIBUTED = lazy(rb"torchrun|torch\.distributed|deepspeed|accelerate launch|horovodrun|mpirun")
Data = Callable[[str], "bytes | None"]


class Export(NamedTuple):
    """One variable that is set for NPUs."""

    variable: str
    value: str
    group: str
    why: dict[str, str]
    place: str  # the place that calls for it, as text: path:line
    offered: bool  # it is written as a comment only
    against: str | None  # the place of a text that the variable does not fit to


class World(NamedTuple):
    """What a run knows about the repository."""

    files: Sequence[FileResult]  # Python files, and other files that passed the gate
    launcher: str  # the shell script that starts the training
    paths: Iterable[str]  # files that may forbid a variable: all of the repository; in a report, those with a result
    data: Data


def exports(rows: Iterable[dict[str, Any]], world: World, cards: int = 0, cores: int = 0) -> list[Export]:
    texts = _spoken(world)
    exports = []
    for row in rows:
        place = _place(row["when"], world, cards)
        if place is not None:
            why = {lang: text.replace("{place}", place) for lang, text in row["why"].items()}
            value = row["value"].replace("{cores}", _binding(cards, cores))
            against = _against(row.get("unless", ()), texts)
            exports.append(Export(row["variable"], value, row["group"], why, place, "offered" in row, against))
    return exports


def _place(when: Sequence[str], world: World, cards: int) -> str | None:
    """The first place, by _order, that calls for a variable; None where nothing does."""
    places = []
    for reason in when:
        if reason == "always":
            return ""
        if reason == "cores":
            places += ["--cards"] if cards else []
        elif reason == "launcher":
            places += [world.launcher] if world.launcher and _is_distributed(world) else []
        elif reason.startswith("api:"):
            places += [
                f"{file.path}:{line}" for file in world.files for name, _, line in file.apis if name == reason[4:]
            ]
        else:
            code, _, why = reason.partition(":")
            places += _findings(world, code, why)
    return min(places, key=_order) if places else None


def _findings(world: World, code: str, why: str) -> list[str]:
    return [
        f"{f.path}:{f.line} {f.code}"
        for file in world.files
        for f in (*file.findings, *(file.inventory if why else ()))  # a reason that names its message means that alone
        if f.code == code and why in ("", f.why) and f.suppressed is None
    ]


def _is_distributed(world: World) -> bool:
    """Whether the launcher starts several processes."""
    data = world.data(world.launcher)
    return data is not None and _DISTRIBUTED.search(data) is not None


def _order(place: str) -> tuple[bool, int, str]:
    """For sorting: training before tests and the like, then files near the root, then by name."""
    path = place.partition(":")[0]
    return bool(ASIDE.search(path)), path.count("/"), place


def _binding(cards: int, cores: int) -> str:
    """The value that gives each card its share of the cores, in order. Cores that remain are given to no card."""
    if not cards:
        return "1"
    share = cores // cards
    return "1," + ",".join(f"npu{n}:{n * share}-{(n + 1) * share - 1}" for n in range(cards))


def _spoken(world: World) -> list[tuple[str, str]]:
    """(path, text) of the files that may forbid a variable: scripts, settings files, and Python that sets variables."""
    texts = []
    sets = {file.path for file in world.files if any(f.code in _SET for f in file.findings)}
    for path in world.paths:
        if kind_of(path) not in SPEAKS and path not in sets or ASIDE.search(path):
            continue
        data = world.data(path)
        if data is not None and len(data) <= LARGEST and not data.startswith(MARK):
            texts.append((path, data.decode("utf-8", "replace")))
    return texts


def _against(unless: Sequence[str], texts: Iterable[tuple[str, str]]) -> str | None:
    """The first place of a text that a variable does not fit to. Comments do not count."""
    for pattern in unless:
        search = re.compile(rf"^[^#\n]*?(?:{pattern})", re.MULTILINE)
        for path, text in texts:
            if match := search.search(text):
                return f"{path}:{text.count(chr(10), 0, match.end()) + 1}"
    return None
