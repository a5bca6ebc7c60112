"""What a comparison of dumps ends in."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.compare.verdict import DIFFERENCE, NONE, UNSURE, Fact
from porter.dumps.align import Pair

# reasons -> outcome; a module is at fault for those of AT_FAULT alone
REASONS = {
    "shape": DIFFERENCE, "finite": DIFFERENCE, "outputs": DIFFERENCE, "inside": DIFFERENCE, "several": DIFFERENCE,
    "dropout": DIFFERENCE, "gradient": DIFFERENCE, "weights": DIFFERENCE, "between": DIFFERENCE, "data": DIFFERENCE, "scaled": DIFFERENCE,
    "incoming": DIFFERENCE, "update": DIFFERENCE,
    "equal": NONE, "rounding": NONE,
    "seed": UNSURE, "random": UNSURE, "discrete": UNSURE, "lookup": UNSURE, "md5": UNSURE, "margin": UNSURE, "reduced": UNSURE, "collective": UNSURE,
    "grown": UNSURE, "unaligned": UNSURE, "ends": UNSURE, "unknown": UNSURE,
}  # fmt: skip
AT_FAULT = frozenset({"shape", "finite", "outputs", "inside", "several", "dropout", "gradient", "weights"})


@dataclass
class Verdict:
    """`pair`: the call that it is about; `after`: the last call before it that agrees."""

    reason: str
    pair: Pair | None = None
    after: Pair | None = None
    values: dict[str, object] = field(default_factory=dict)
    evidence: list[Fact] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        return REASONS[self.reason]

    @property
    def is_at_fault(self) -> bool:
        return self.reason in AT_FAULT
