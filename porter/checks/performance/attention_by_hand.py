"""Attention written as product, softmax, product: the scores of all positions go through memory several times."""

from __future__ import annotations

from .opportunity import FUSING, Opportunity

SDPA = "torch.nn.functional.scaled_dot_product_attention"
FUSION = "torch_npu.npu_fusion_attention"


class AttentionByHand(Opportunity):
    code, slug = "PRT614", "attention-by-hand"
    socs = FUSING
    patterns = {"attention"}

    def offered(self, match, file):
        if b"scaled_dot_product_attention" in file.source.utf8:
            return None  # a file that has both keeps this one for where the other does not exist
        return FUSION if match.why == "biased" else SDPA
