"""What a comparison ends in: an outcome, the stage at fault, and the facts that say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DIFFERENCE, NONE, UNSURE = "difference", "none", "unsure"
# in the order in which a step runs through them; the last two are about many steps
STAGES = (
    "data", "weights", "randomness", "forward", "backward", "scaling", "optimiser", "schedule", "overflow", "long-run",
)  # fmt: skip
# what porter finds in a repository that concerns a stage: codes, or their beginnings
CODES: dict[str, tuple[str, ...]] = {
    "data": ("PRT633", "PRT634", "PRT635", "PRT636", "PRT641", "PRT146", "PRT204", "PRT215", "PRT603"),
    "weights": ("PRT148", "PRT147", "PRT9"),
    "randomness": ("PRT306", "PRT617", "PRT146"),
    "forward": ("PRT3", "PRT614", "PRT615", "PRT621", "PRT624", "PRT702", "PRT703"),
    "backward": ("PRT302", "PRT312", "PRT313", "PRT314", "PRT315", "PRT623", "PRT206", "PRT207", "PRT216"),
    "scaling": ("PRT302", "PRT313", "PRT315", "PRT316", "PRT350", "PRT623", "PRT205", "PRT206", "PRT216"),
    "optimiser": ("PRT610", "PRT316", "PRT351", "PRT354"),
    "schedule": ("PRT351",),
    "overflow": ("PRT302", "PRT310", "PRT312", "PRT313", "PRT314", "PRT315", "PRT317"),
    "long-run": ("PRT3", "PRT610"),
}


@dataclass(frozen=True)
class Fact:
    """A sentence of the words of its room, and what it is filled with."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass
class Verdict:
    """`stage`: where the runs part; empty where the outcome is none, or where no evidence tells. `pattern`: how, of a long
    run. `suspects`: the stages that are left where it cannot be told which."""

    outcome: str
    reason: str  # a key of the words: the sentence of the verdict
    stage: str = ""
    pattern: str = ""
    suspects: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)
    evidence: list[Fact] = field(default_factory=list)

    @property
    def asks(self) -> tuple[str, ...]:
        """The stages that are to be looked at next."""
        return (self.stage,) if self.stage else self.suspects


def shown(value: float) -> str:
    return f"{value:.6g}"


def percent(value: float) -> str:
    return f"{100 * value:.2g} %"


def some(names: list[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" (+{len(names) - most})" if len(names) > most else "")
