"""Attention written as product, softmax, product: the scores of all positions go through memory several times."""

from __future__ import annotations

from .opportunity import Opportunity

SDPA = "torch.nn.functional.scaled_dot_product_attention"


class AttentionByHand(Opportunity):
    code, slug = "PRT614", "attention-by-hand"
    calls = {"torch.softmax", "torch.nn.functional.softmax"}
    methods = {"softmax"}
    only = "attention"

    def find(self, original, file):
        if b"scaled_dot_product_attention" in file.source.utf8:
            return None  # a file that has both keeps this one for where the other does not exist
        link = file.scene.link(original)
        if link is None or not file.glance(self.only, link) or not file.scene.first(link):
            return None
        return original, "written-out", (("new", SDPA),)
