"""How far two tensors of two dumps are apart: by their numbers, else by their statistics, else by their md5."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import inf, isfinite

from porter.checkpoint.errors import inside
from porter.checkpoint.find import read
from porter.checkpoint.model import Tensor
from porter.checkpoint.values import apart as numbers_apart
from porter.dumps.model import Value

DATA = "dump_tensor_data"
_LEAST = 1e-12  # of what has the same statistics and other bits
_SAME = 1e-6  # of a number that was written in decimals
_CHANGED = 1e-2  # at least, of integers that are not the same


@dataclass(frozen=True, slots=True)
class Apart:
    """`size`: relative; infinite where there is no measure. `how`: tensors, statistics, md5, shape, finite, unknown."""

    size: float
    how: str
    by: str = ""  # the statistic that says so
    cosine: float | None = None
    is_weak: bool = False  # they agree as far as is known, and little is: the range of integers

    @property
    def is_known(self) -> bool:
        return self.how != "unknown"


class Measure:
    """Of the tensors of two folders. One of each side is held at a time, and of these a piece."""

    def __init__(self, folders: tuple[str, str]) -> None:
        self._folders = folders
        self.absent = 0  # tensors that are named and not there
        self._known: dict[tuple[str, str], Apart] = {}

    def __call__(self, one: Value, other: Value) -> Apart:
        if not one.file or not other.file or one.shape != other.shape:
            return statistics_apart(one, other)
        key = one.file, other.file
        if key not in self._known:
            self._known[key] = self._by_tensors(one, other) or statistics_apart(one, other)
        return self._known[key]

    def _by_tensors(self, one: Value, other: Value) -> Apart | None:
        tensors = [self._read(folder, value) for folder, value in zip(self._folders, (one, other))]
        if tensors[0] is None or tensors[1] is None or tensors[0].shape != tensors[1].shape:
            return None
        found = numbers_apart(tensors[0], tensors[1])
        if found is None:
            return None
        if found.not_finite:
            return Apart(inf, "finite", cosine=found.cosine)
        share = 0.0 if one.is_float else found.differing / (found.count or 1)
        return Apart(max(found.relative, share), "tensors", cosine=found.cosine)

    def _read(self, folder: str, value: Value) -> Tensor | None:
        """Raises UserError: a name that leads out of the folder, a file that is damaged or would run something."""
        data = os.path.join(folder, DATA)
        file = inside(data, value.file, os.path.join(folder, "dump.json"))
        if not os.path.isfile(file):
            self.absent += 1
            return None
        return next(iter(read(file).tensors.values()), None)


def statistics_apart(one: Value, other: Value) -> Apart:
    """Raises nothing: what is not known is said so."""
    if one.count != other.count:
        return Apart(inf, "shape")
    if one.md5 and one.md5 == other.md5:
        return Apart(0.0, "md5")
    if one.top is None or other.top is None:
        if one.md5 and other.md5 and one.dtype == other.dtype:
            return Apart(inf, "md5")
        return Apart(0.0, "unknown", is_weak=True)
    found = max(_sizes(one, other), default=(0.0, ""))
    if one.md5 and other.md5 and not found[0]:
        found = _LEAST, "md5"
    if isfinite(found[0]):
        return Apart(found[0], "statistics", found[1], is_weak=one.mean is None and not one.is_float and one.count > 1)
    return Apart(inf, "finite", found[1])


def weights_differ(one: Value, other: Value, floor: float) -> bool:
    """Weights are not computed: of one type, the largest and the smallest are the same number, and so are the bits."""
    apart = statistics_apart(one, other)
    if one.dtype != other.dtype or apart.how not in ("statistics", "md5"):
        return apart.is_known and apart.size > floor
    ends = [size for size, name in _sizes(one, other) if name in ("Max", "Min")]
    return apart.size > floor or any(size > _SAME for size in ends)


def _sizes(one: Value, other: Value) -> list[tuple[float, str]]:
    """How far each statistic is apart that differs. What it is measured by may be missing: then by its own size."""
    scale = one.largest or other.largest or 0.0
    rows = [
        (one.norm, other.norm, one.norm or 0.0, "Norm"),
        (one.mean, other.mean, one.rms or other.rms or 0.0, "Mean"),
        (one.top, other.top, scale, "Max"),
        (one.bottom, other.bottom, scale, "Min"),
    ]
    found = []
    for mine, theirs, unit, name in rows:
        if mine is None or theirs is None or mine == theirs:
            continue
        if not (isfinite(mine) and isfinite(theirs)):
            if mine == mine or theirs == theirs:  # not NaN in both
                found.append((inf, name))
        elif isfinite(unit):
            size = abs(mine - theirs) / (abs(unit) or max(abs(mine), abs(theirs)))
            found.append((size if one.is_float else max(_CHANGED, size), name))
    return found
