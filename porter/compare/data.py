"""The batches both runs read, by their hashes: where they part first, and in which rank."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import islice

from porter.compare.pair import Pair, relative
from porter.compare.run import Rank
from porter.compare.series import pairs
from porter.compare.tolerance import EARLY, MEANS
from porter.compare.verdict import Fact, some


@dataclass
class Data:
    """Where the batches part first. `ranks`: those whose do; `same`: whether two ranks of the candidate read the same."""

    known: bool
    until: int = 0  # the last step up to which all ranks have hashes of every step
    step: int | None = None
    ranks: list[int] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    is_order: bool = False  # the same batches, later or earlier
    rounded: int | None = None  # the first step of which only the last bits of an input differ
    same: tuple[int, int] | None = None

    def facts(self, all_ranks: int) -> list[Fact]:
        facts = []
        if self.step is not None:
            values = {"step": self.step, "paths": some(self.paths), "ranks": some([str(r) for r in self.ranks], 8)}
            facts.append(Fact("data.differ.ranks" if len(self.ranks) < all_ranks else "data.differ", values))
            if self.shapes:
                facts.append(Fact("data.shapes", {"shapes": "; ".join(self.shapes[:3])}))
            if self.is_order:
                facts.append(Fact("data.order"))
        if self.same:
            facts.append(Fact("data.same", {"one": self.same[0], "other": self.same[1]}))
        return facts


def data(pair: Pair) -> Data:
    """Of ranks that have no partner, nothing is known."""
    firsts: dict[int, int] = {}
    found = Data(False)
    for rank in pair.ranks:
        one, other = pair.baseline.ranks[rank], pair.candidate.ranks[rank]
        if not (one.batches and other.batches):
            continue
        last = _covered(one, other, pair)
        found.until = min(last, found.until) if found.known else last
        found.known = True
        first = _parting(one, other, pair.shift, found)
        if first is not None:
            firsts[rank] = first
    if not firsts:
        return found
    found.step = min(firsts.values())
    found.ranks = sorted(rank for rank, step in firsts.items() if step == found.step)
    found.is_order = all(_reordered(pair, rank) for rank in found.ranks)
    found.same = _read_the_same(pair, found.ranks, found.step)
    return found


def _covered(one: Rank, other: Rank, pair: Pair) -> int:
    """The last early step up to which no batch is missing in either run."""
    steps: set[int] = set()
    first = pair.loss.steps[0] if pair.loss.steps else 1
    for path in one.batches.hashes.keys() & other.batches.hashes.keys():
        mine, theirs = one.batches.hashes[path], other.batches.hashes[path].moved(pair.shift)
        steps.update(step for step, _, _ in islice(pairs(mine, theirs), EARLY + 1))
    last = first - 1
    while last + 1 in steps:
        last += 1
    return last


def _parting(one: Rank, other: Rank, shift: int, found: Data) -> int | None:
    first: int | None = None
    mine, theirs = one.batches, other.batches
    for path in mine.hashes.keys() & theirs.hashes.keys():
        means = mine.means[path], theirs.means[path].moved(shift)
        # of inputs around zero, a mean may be next to nothing, and its rounding is not
        floor = max((abs(mean) for mean in means[0].values if math.isfinite(mean)), default=0.0)
        for step, a, b in pairs(mine.hashes[path], theirs.hashes[path].moved(shift)):
            if a == b or (first is not None and step > first):
                continue
            m, n = means[0].at(step), means[1].at(step)
            if (
                m is not None
                and n is not None
                and relative(m, n, floor) < MEANS
                and mine.shapes[path] == theirs.shapes[path]
            ):
                found.rounded = step if found.rounded is None else min(step, found.rounded)
                continue
            first = step
            break
    for path in mine.shapes.keys() & theirs.shapes.keys():  # the same bytes may have another shape
        if mine.shapes[path] != theirs.shapes[path] and mine.hashes[path].steps:
            start = mine.hashes[path].steps[0]
            first = start if first is None else min(start, first)
    if first is not None:
        for path in sorted(mine.hashes.keys() & theirs.hashes.keys()):
            if mine.hashes[path].at(first) != theirs.hashes[path].at(first - shift) and path not in found.paths:
                found.paths.append(path)
                if mine.shapes[path] != theirs.shapes[path]:
                    found.shapes.append(f"{path} {_shape(mine.shapes[path])} / {_shape(theirs.shapes[path])}")
    return first


def _shape(about: tuple[tuple[int, ...], str]) -> str:
    return f"{about[1]}{list(about[0])}"


def _reordered(pair: Pair, rank: int) -> bool:
    """Whether most batches of one run are batches of the other."""
    shares = []
    for path, series in pair.baseline.ranks[rank].batches.hashes.items():
        theirs = pair.candidate.ranks[rank].batches.hashes.get(path)
        if theirs is not None and len(set(series.values)) > 2:
            shares.append(len(set(series.values) & set(theirs.values)) / len(set(series.values)))
    return bool(shares) and min(shares) > 0.5


def _read_the_same(pair: Pair, ranks: list[int], step: int) -> tuple[int, int] | None:
    """Two ranks of the candidate with one batch, where the baseline's have two."""

    def batch(by_rank: dict[int, Rank], rank: int, at: int) -> list[float | None]:
        return [series.at(at) for _, series in sorted(by_rank[rank].batches.hashes.items())]

    ours, theirs = pair.baseline.ranks, pair.candidate.ranks
    for rank in ranks:
        for other in pair.ranks:
            alike = other != rank and batch(theirs, rank, step - pair.shift) == batch(theirs, other, step - pair.shift)
            if alike and batch(ours, rank, step) != batch(ours, other, step):
                return min(rank, other), max(rank, other)
    return None
