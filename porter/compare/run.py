"""A run as it was read: what each rank wrote, whatever the format."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from porter.compare.series import LIMIT, Series
from porter.files.documents import Json
from porter.logs.records import LOSS

PATHS = 64  # of inputs of one batch
PARAMETERS = 1 << 18
WITH_NORMS = 8  # steps whose local norms are kept
UPDATE = "update"  # and a number: series of an own log, the norms of the gradients that reach an optimiser
OPTIMISERS = 8
LOSSES = 1 << 21  # of the losses more is kept than of anything else


@dataclass
class Weight:
    norm: float
    shape: tuple[int, ...]
    dtype: str
    mark: float | None = None  # a sum by place: another order or other signs of the same values change it


class Batches:
    """By step and path, the hash and the mean of an input: as numbers, so that a million of steps fit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.hashes: dict[str, Series] = {}
        self.means: dict[str, Series] = {}
        self.shapes: dict[str, tuple[tuple[int, ...], str]] = {}  # of the first batch, with the dtype

    def add(self, step: int, path: str, shape: tuple[int, ...], dtype: str, mark: str, mean: float) -> None:
        if path not in self.hashes:
            if len(self.hashes) >= PATHS:
                return
            self.hashes[path], self.means[path] = Series(self._limit), Series(self._limit)
            self.shapes[path] = (shape, dtype)
        self.hashes[path].add(step, _number(mark))
        if math.isfinite(mean):
            self.means[path].add(step, mean)

    def __bool__(self) -> bool:
        return bool(self.hashes)


@dataclass
class Rank:
    limit: int = LIMIT
    header: Json = field(default_factory=dict)
    weights: dict[str, Weight] = field(default_factory=dict)
    optimisers: list[Json] = field(default_factory=list)
    modules: Json | None = None
    batches: Batches = field(init=False)
    norms: dict[int, dict[str, float]] = field(default_factory=dict)
    marks: dict[int, dict[str, float]] = field(default_factory=dict)  # of the same gradients
    series: dict[str, Series] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)  # how many values each optimiser moves
    ended: bool = False

    def __post_init__(self) -> None:
        self.batches = Batches(self.limit)

    def add(self, kind: str, step: int, value: float) -> None:
        if kind not in self.series:
            self.series[kind] = Series(max(LOSSES, self.limit) if kind == LOSS and self.limit == LIMIT else self.limit)
        self.series[kind].add(step, value)

    @property
    def loss(self) -> Series:
        return self.series.get(LOSS) or Series()


@dataclass
class Run:
    """`ordered`: its steps were counted by porter, as the log names none. `averages`: each loss is a mean since
    the last. `mixed`: one step has several losses, as where ranks write into one log."""

    name: str
    format: str
    ranks: dict[int, Rank]
    ordered: bool = False
    averages: bool = False
    mixed: bool = False
    notes: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    @property
    def first(self) -> Rank:
        """The rank that speaks for all."""
        return self.ranks[min(self.ranks)]

    @property
    def is_own(self) -> bool:
        return self.format == "porter"

    @property
    def device(self) -> str:
        return str(self.first.header.get("device") or "")

    def each(self) -> Iterator[tuple[int, Rank]]:
        yield from sorted(self.ranks.items())


def _number(mark: str) -> float:
    """52 bits of a hash, which a float holds."""
    try:
        return float(int(mark[:13], 16))
    except ValueError:
        return float(int(hashlib.sha256(mark.encode("utf-8", "replace")).hexdigest()[:13], 16))
