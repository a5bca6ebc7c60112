"""Attention written as product, softmax, product: the scores of all positions go through memory several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.checks.performance.opportunity import FUSING, Opportunity
from porter.engine.rule_file import RuleFile

if TYPE_CHECKING:
    from porter.values.patterns import Match

SDPA = "torch.nn.functional.scaled_dot_product_attention"
FUSION = "torch_npu.npu_fusion_attention"
_OTHERS = (
    *(b"scaled_dot_product_attention", b"ALL_ATTENTION_FUNCTIONS", b"_supports_sdpa = True"),
    *(b'"sdpa"', b"'sdpa'"),
)


def chooses(file: RuleFile) -> bool:
    """Whether a file has the other form, too: it keeps this one for where the other does not exist."""
    return any(map(file.source.says, _OTHERS))


class AttentionByHand(Opportunity):
    code = "PRT614"
    socs = FUSING
    patterns = {"attention"}

    def offered(self, match: Match, file: RuleFile) -> str | None:
        if chooses(file) or match.why == "unfit":
            return None
        return FUSION if match.why == "biased" else SDPA
