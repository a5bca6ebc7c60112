"""GELU written with erf, tanh or a sigmoid: five to nine kernels of which one is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from porter.checks.performance.opportunity import FUSING, Opportunity, Seen
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.values.patterns import Match

BOTH = lazy(rb"(?:F|functional)\.gelu\b")
NEW = {"sigmoid": "torch_npu.npu_fast_gelu", "erf": "torch_npu.npu_gelu"}  # F.gelu is the tanh form on an NPU


class GeluByHand(Opportunity):
    code = "PRT624"
    patterns = {"gelu"}

    def find(self, original: Any, file: RuleFile) -> Seen | None:
        match = next(iter(file.matches(original, self.patterns)), None)
        if match is not None:
            if file.source.says(BOTH, match.body.owner or match.body.function):
                return None  # kept on purpose beside the other
        return super().find(original, file)

    def offered(self, match: Match, file: RuleFile) -> str | None:
        if match.why == "erf" and file.target.soc not in FUSING:
            return None
        new = NEW.get(match.why, "torch.nn.functional.gelu")
        return new if file.session.has(new) or not new.startswith("torch_npu") else None
