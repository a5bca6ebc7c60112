"""What a comparison of dumps ends in."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.compare.verdict import DIFFERENCE, NONE, UNSURE, Fact
from porter.dumps.align import Pair

# a module is at fault for these alone
AT_FAULT = ("shape", "finite", "outputs", "inside", "several", "dropout", "gradient", "weights")
REASONS = {
    **dict.fromkeys((*AT_FAULT, "between", "data", "scaled", "incoming", "update"), DIFFERENCE),
    **dict.fromkeys(("equal", "rounding"), NONE),
    **dict.fromkeys(("seed", "random", "discrete", "lookup", "md5", "margin", "reduced", "collective"), UNSURE),
    **dict.fromkeys(("grown", "unaligned", "ends", "unknown"), UNSURE),
}


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
