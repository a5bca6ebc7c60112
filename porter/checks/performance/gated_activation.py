"""`silu(a) * b` of the halves of one tensor, or of two layers (SwiGLU), and the same with gelu (GEGLU)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.checks.performance.opportunity import FUSING, Opportunity
from porter.engine.rule_file import RuleFile

if TYPE_CHECKING:
    from porter.values.patterns import Match

NEW = {"silu": "torch_npu.npu_swiglu", "gelu": "torch_npu.npu_geglu"}


class GatedActivation(Opportunity):
    code = "PRT612"
    socs = FUSING
    patterns = {"gate"}

    def offered(self, match: Match, file: RuleFile) -> str | None:
        return NEW[match.why.partition("-")[0]]
