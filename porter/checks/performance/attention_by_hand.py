"""Attention written as product, softmax, product: the scores of all positions go through memory several times."""

from __future__ import annotations

import re

from .opportunity import FUSING, Opportunity

SDPA = "torch.nn.functional.scaled_dot_product_attention"
FUSION = "torch_npu.npu_fusion_attention"


_OTHERS = re.compile(rb"scaled_dot_product_attention|ALL_ATTENTION_FUNCTIONS|_supports_sdpa = True|[\"']sdpa[\"']")


def chooses(file) -> bool:
    """Whether a file has the other form, too: it keeps this one for where the other does not exist."""
    return bool(_OTHERS.search(file.source.utf8))


class AttentionByHand(Opportunity):
    code, slug = "PRT614", "attention-by-hand"
    socs = FUSING
    patterns = {"attention"}

    def offered(self, match, file):
        if chooses(file):
            return None
        return FUSION if match.why == "biased" else SDPA
