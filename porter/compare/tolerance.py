"""How far two runs may be apart and still be the same: docs/reference.md gives the table and the reasons.

A loss is a mean over a batch, so that the rounding of single values averages out: what is left is some hundred times the
unit of rounding of float32, and about that unit itself of the halves. Two kinds of devices sum in another order, and round
products differently; the same kind does not. A gradient is no mean: its norm may be twenty times as far.
"""

from __future__ import annotations

from dataclasses import dataclass

from porter.compare.run import Run
from porter.compare.series import Series
from porter.logs.records import SCALE

EARLY = 10  # steps in which a fault of one stage shows before rounding has grown
GROWTH = 1.5  # of rounding, from one step to the next
WEIGHTS = 1e-5  # of the norms of the same weights: a sum, in whatever precision
TURNED = 5  # times what a norm may differ by, of the sum by place that comes with it: it averages nothing out
SCHEDULE = 1e-6
MEANS = 1e-6  # of inputs that two libraries rounded differently
_SAME = {"float64": 1e-9, "float32": 5e-6, "float16": 3e-4, "bfloat16": 2e-3}
_OTHER = {"float64": 1e-8, "float32": 5e-5, "float16": 1e-3, "bfloat16": 5e-3}
UNKNOWN = 5e-3  # the largest of them: a text says nothing of its precision
_ORDER = tuple(_SAME)
_REDUCED = {"cuda": "tf32", "npu": "hf32"}
ALIKE = 5e-5  # losses so near, to so many digits, are of the same weights and data


@dataclass(frozen=True)
class Tolerance:
    """`precision`: the coarsest in which one of the runs keeps parameters or computes; empty where nothing tells."""

    precision: str
    is_same_device: bool
    loss: float
    is_sure: bool = True  # no lower precision may be at work that the logs do not name

    @property
    def norm(self) -> float:
        return min(20 * self.loss, 5e-2)

    def at(self, step: int) -> float:
        """Of a loss, `step` steps after the first."""
        return self.loss * (3 * GROWTH ** (min(step, EARLY) - 1) if step > 0 else 1)

    def norm_at(self, step: int) -> float:
        return min(self.norm * GROWTH ** min(step, EARLY), 0.2)


def tolerance(one: Run, other: Run, noise: float = 0.0) -> Tolerance:
    """`noise`: how far the baseline's own rerun is off at the first step."""
    runs = (one, other)
    precision = max((kind for run in runs for kind in _precisions(run)), key=_ORDER.index, default="")
    same = bool(one.device) and one.device == other.device
    exact = same and (one.device == "cpu" or all(map(_is_deterministic, runs)))
    loss = (_SAME if exact else _OTHER)[precision] if precision else UNKNOWN
    if precision == "float32" and not exact and any(_reduces(run) for run in runs):
        loss = _OTHER["float16"]  # ten bits of mantissa, too
    is_sure = exact or precision != "float32" or all("autocast" in (run.first.modules or {}) for run in runs)
    return Tolerance(precision, same, max(loss, 3 * noise), is_sure)


def _precisions(run: Run) -> list[str]:
    modules = run.first.modules or {}
    kinds = {str(modules.get("autocast") or "").removeprefix("torch."), *(w.dtype for w in run.first.weights.values())}
    if "autocast" not in modules and any(value > 1 for value in run.first.series.get(SCALE, Series()).values[:1]):
        kinds.add("float16")  # nothing else needs a scale
    return [kind for kind in kinds if kind in _ORDER]


def _is_deterministic(run: Run) -> bool:
    switches = run.first.header.get("determinism")
    return isinstance(switches, dict) and switches.get("deterministic_algorithms") is True


def _reduces(run: Run) -> bool:
    """Whether the device multiplies with ten bits of mantissa, by a switch that says so."""
    switches, word = run.first.header.get("determinism"), _REDUCED.get(run.device)
    if word is None or not isinstance(switches, dict):
        return False
    on = [str(name).lower() for name, value in switches.items() if value is True and word in str(name).lower()]
    convolves = any(len(weight.shape) > 3 for weight in run.first.weights.values())
    return any(convolves or "matmul" in name for name in on)
