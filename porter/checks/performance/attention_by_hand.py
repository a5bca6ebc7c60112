"""Attention written as product, softmax, product: the scores of all positions go through memory several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.checks.performance.opportunity import FUSING, Opportunity
from porter.checks.performance.other_attention import chooses, only_for_weights
from porter.engine.rule_file import RuleFile

if TYPE_CHECKING:
    from porter.values.patterns import Match

SDPA = "torch.nn.functional.scaled_dot_product_attention"
FUSION = "torch_npu.npu_fusion_attention"


class AttentionByHand(Opportunity):
    code = "PRT614"
    socs = FUSING
    patterns = {"attention"}

    def offered(self, match: Match, file: RuleFile) -> str | None:
        link = file.scene.link_to(match.anchor)
        if match.why == "unfit" or chooses(file, link) or only_for_weights(link):
            return None
        return FUSION if match.why == "biased" else SDPA
