"""Rotary position embedding by cutting, negating and joining halves."""

from __future__ import annotations

from porter.python import idioms

from .opportunity import Opportunity


class RotaryEmbedding(Opportunity):
    code, slug = "PRT613", "rotary-embedding"
    offers = "torch_npu.npu_rotary_mul"
    calls = {"torch.cat", "torch.concat", "torch.concatenate"}
    only = "rotation"

    def find(self, original, file):
        link = file.scene.link(original)
        return (original, "halves", ()) if link is not None and idioms.is_rotation(link) else None
