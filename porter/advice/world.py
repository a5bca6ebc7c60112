"""What is known of a repository, by what advice asks for: findings, names, packages, idioms, values, kinds of models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from porter.files.script_texts import ASIDE
from porter.finding import FileResult, Finding
from porter.regex import lazy

_EXAMPLES = lazy(r"(?i)(?:^|/)(?:examples?|scripts?|tools?|contrib|demo|projects?|benchmarks?|experimental)/")
_TRAINS = lazy(
    r"(?i)(?:^|/)(?:[^/]*_)?(?:pre)?(?:train|finetune|trainer|engine|launch|run|schedules)(?:_[^/]*|er|ing)?\.\w+$"
)
_ELSEWHERE = lazy(
    r"(?i)(?:^|/)(?:\w*inference|\w*serving|\w*_server|deploy(?:ment)?|chat|webui|third_party|vendor|\.[^/]+)/|_tests?\.\w+$"
)
_PROJECT = ("setup.py", "pyproject.toml", "setup.cfg")


class Place(NamedTuple):
    path: str
    line: int
    label: str  # PRT311, torch.nn.Conv2d, `adam_beta2 = 0.999`: as a person finds it
    value: str = ""

    @property
    def order(self) -> tuple[bool, bool, int, int, str, int, str]:
        """What trains before the rest, what is near the root before what is deep inside, and examples last."""
        aside = bool(_EXAMPLES.search(self.path))
        trains = _TRAINS.search(self.path) is not None
        return aside, not trains, self.path.count("/"), len(self.path), self.path, self.line, self.label


@dataclass
class World:
    soc: str
    findings: dict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))
    apis: dict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))
    imports: dict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))
    signs: dict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))
    models: dict[str, list[Place]] = field(default_factory=dict)
    collection: bool = False  # several projects side by side: what holds for one says nothing about the others

    def near(self, places: Iterable[Place], others: Iterable[Place]) -> list[Place]:
        """Those of `places` that belong to the same project as one of `others`."""
        if not self.collection:
            return list(places) if any(True for _ in others) else []
        parts = {_part(other.path) for other in others}
        return [place for place in places if "" in parts or _part(place.path) in parts]


def gather(
    files: Iterable[FileResult], findings: Iterable[Finding], scripts: Iterable[tuple[str, bytes]], soc: str
) -> World:
    """`findings`: the open ones of `files`."""
    from porter.advice.scripts import observed

    files, scripts = list(files), list(scripts)
    roots = {path for path in (*(file.path for file in files), *(path for path, _ in scripts)) if "/" not in path}
    world = World(soc)
    for file in files:
        if _aside(file.path):
            continue
        for name, _, line in file.apis:
            world.apis[name].append(Place(file.path, line, name))
        _take(world, file.path, file.observed)
    for f in findings:
        if not _aside(f.path):
            place = Place(f.path, f.line, f.code)
            world.findings[f.code].append(place)
            world.findings[f"{f.code}:{f.why}"].append(place)
    for path, data in scripts:
        if not _aside(path):
            _take(world, path, observed(path, data))
    trained = {_part(place.path) for name in ("backward", "trainer") for place in world.signs.get(name, ())}
    world.collection = roots.isdisjoint(_PROJECT) and len(trained - {""}) > 2
    return world


def _part(path: str) -> str:
    """The folder of a project in a collection: `training/cifar`; "" for what stands at the root."""
    return "/".join(path.split("/")[:-1][:2])


def _aside(path: str) -> bool:
    """Tests, documents and serving are no part of a training run."""
    return bool(ASIDE.search(path) or _ELSEWHERE.search(path))


def _take(world: World, path: str, observations: Iterable[tuple[str, str, int]]) -> None:
    for name, value, line in observations:
        kind, _, short_name = name.partition(":")
        if kind == "value":
            world.values[short_name].append(Place(path, line, f"{short_name} = {value}", value))
        elif kind == "import":
            world.imports[short_name].append(Place(path, line, f"import {short_name}"))
        else:
            world.signs[short_name].append(Place(path, line, "", value))
