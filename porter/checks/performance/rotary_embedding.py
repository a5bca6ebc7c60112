"""Rotary position embedding by cutting, negating and joining halves."""

from __future__ import annotations

from .opportunity import Opportunity


class RotaryEmbedding(Opportunity):
    code, slug = "PRT613", "rotary-embedding"
    offers = "torch_npu.npu_rotary_mul"
    calls = {"torch.cat", "torch.concat", "torch.concatenate"}
    only = "rotation"

    def find(self, original, file):
        link = file.scene.link(original)
        return (original, "halves", ()) if link is not None and file.glance(self.only, link) else None
