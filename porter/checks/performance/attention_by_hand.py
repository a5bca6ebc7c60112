"""Attention written as product, softmax, product: the scores of all positions go through memory several times."""

from __future__ import annotations

from porter.python.idioms import attention

from .opportunity import Opportunity

SDPA = "torch.nn.functional.scaled_dot_product_attention"
FUSION = "torch_npu.npu_fusion_attention"


class AttentionByHand(Opportunity):
    code, slug = "PRT614", "attention-by-hand"
    calls = {"torch.softmax", "torch.nn.functional.softmax"}
    methods = {"softmax"}
    only = "attention"

    def find(self, original, file):
        if b"scaled_dot_product_attention" in file.source.utf8:
            return None  # a file that has both keeps this one for where the other does not exist
        link = file.scene.link(original)
        kind = attention(link) if link is not None and file.scene.first(link) else ""
        if not kind:
            return None
        if kind == "biased":
            return original, "biased", (("new", FUSION),)
        return original, "written-out", (("new", SDPA),)
