"""Whether two runs of a program agree, and if not, where they part first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from porter.verify.launch import Outcome
from porter.verify.records import Point, Records

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")  # in the name of a file: another one in each run
DRAWN = "random state"  # of the device: a fused operator draws otherwise, and nothing of it is near anything
TESTED = "networks in eval()"
TOLERANCE, STEPS = 1e-3, 20  # relative, over the first steps, where operators were exchanged
# A GPU's default in places, and not an NPU's: the same formula in another order, which float32 hardly shows. Halves do.
_FUSED_STEPS = ("aten::_fused_adam_", "aten::_fused_adamw_", "aten::_fused_adagrad_", "aten::_fused_sgd_")
TOLERANCE_OF_STEPS = 1e-5
# These change a memory format or a dtype, not a formula.
_NOT_FUSED = ("npu::npu_format_cast", "npu::_npu_format_cast", "npu::npu_dtype_cast", "npu::_npu_dtype_cast")


@dataclass(frozen=True, slots=True)
class Curve:
    """One series of both runs."""

    name: str
    original: tuple[Point, ...]
    ported: tuple[Point, ...]
    equal: int  # pairs with the same bits
    furthest: float  # largest relative difference of the pairs that count
    parts_at: int | None  # index of the first pair, or missing partner, that does not agree

    @property
    def agrees(self) -> bool:
        return self.parts_at is None


@dataclass(frozen=True, slots=True)
class Comparison:
    exchanged: tuple[str, ...]  # fused operators that only the port runs, or steps of optimisers of one side alone
    tolerance: float  # 0: bit for bit
    curves: tuple[Curve, ...]
    saved: tuple[int, int, tuple[str, ...]]  # equal, in all, and names of those that differ

    @property
    def verdict(self) -> str:
        """equal | close | apart | silent (nothing was recorded that could be compared)"""
        if not self.curves and (not self.saved[1] or self.tolerance and self.saved[2]):
            return "silent"  # under a tolerance, other bits alone say nothing
        if not all(curve.agrees for curve in self.curves) or (not self.tolerance and self.saved[2]):
            return "apart"
        bits = all(curve.equal == len(curve.original) for curve in self.curves) and not self.saved[2]
        return "equal" if bits else "close"


def is_of_steps(series: str) -> bool:
    """Whether it has at least one value for each step."""
    return series == "loss" or series.startswith(("loss of rank ", "grad_norm "))


def compare(original: Outcome, ported: Outcome, tolerance: float | None = None) -> Comparison:
    before, after = original.records, ported.records
    fused, steps = _fused(after) - _fused(before), _fused_steps(after) ^ _fused_steps(before)
    default = TOLERANCE if fused or steps and _has_halves(before, after) else TOLERANCE_OF_STEPS if steps else 0.0
    allowed = default if tolerance is None else tolerance
    names = sorted(name for name in {*before.series, *after.series} if not (allowed and name.startswith(DRAWN)))
    sides = {name: (before.series.get(name, []), after.series.get(name, [])) for name in names}
    curves = tuple(_curve(name, *both, allowed) for name, both in sides.items() if not _says_nothing(name, *both))
    return Comparison(tuple(sorted(fused | steps)), allowed, curves, _saved(before.saved, after.saved))


def _says_nothing(name: str, *sides: list[Point]) -> bool:
    """One program never asked for a mode, as where apex wraps the model, and the other has no network in `eval()` either."""
    return name.startswith(TESTED) and not all(sides) and not any(point.value for side in sides for point in side)


def _saved(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[int, int, tuple[str, ...]]:
    """What is saved as `...cuda` may be saved as `...npu` by the port: of what an accelerator's library keeps, say."""
    before, after = _by_steady_name(before), _by_steady_name(after)
    partner = {name: name if name in after else name.replace("cuda", "npu") for name in before}
    differ = {name for name, there in partner.items() if before[name] != after.get(there)}
    names = {*before, *(after.keys() - partner.values())}
    differ |= after.keys() - partner.values()
    return len(names) - len(differ), len(names), tuple(sorted(differ))


def _by_steady_name(saved: Mapping[str, object]) -> dict[str, object]:
    """Several files whose names differ in nothing but their UUID are told apart by the order in which they were saved."""
    tensors: dict[str, object] = {}
    times: Counter[str] = Counter()
    for name, tensor in saved.items():
        steady = _UUID.sub("uuid", name)
        times[steady] += 1
        tensors[steady if times[steady] == 1 else f"{steady} ({times[steady]})"] = tensor
    return tensors


def _curve(name: str, original: list[Point], ported: list[Point], tolerance: float) -> Curve:
    pairs = list(zip(original, ported))
    equal, furthest, parts = 0, 0.0, None
    for number, (one, other) in enumerate(pairs):
        same = one.value == other.value or math.isnan(one.value) and math.isnan(other.value)
        equal += same
        if tolerance and number >= STEPS:  # small differences grow; a longer curve proves nothing
            continue
        apart = 0.0 if same else _relative(one, other, tolerance)
        furthest = max(furthest, apart)
        if apart > tolerance and parts is None:
            parts = number
    if parts is None and len(original) != len(ported):
        parts = len(pairs)
    return Curve(name, tuple(original), tuple(ported), equal, furthest, parts)


def _relative(one: Point, other: Point, tolerance: float) -> float:
    if not (math.isfinite(one.value) and math.isfinite(other.value)):
        return math.inf
    apart = abs(one.value - other.value)
    if tolerance:  # what was rounded may be off by one in its last digit
        apart = max(0.0, apart - 1.001 * max(one.last_digit, other.last_digit))
    return apart / max(abs(one.value), abs(other.value))


def _fused_steps(records: Records) -> set[str]:
    return records.operator_names().intersection(_FUSED_STEPS)


def _has_halves(*sides: Records) -> bool:
    return any(operator.dtype in ("Half", "BFloat16") for records in sides for operator in records.operators)


def _fused(records: Records) -> set[str]:
    return {name for name in records.operator_names() if name.startswith("npu::") and not name.startswith(_NOT_FUSED)}
