"""Rotary position embedding: halves or neighbours that are turned, written out or as complex numbers."""

from __future__ import annotations

from porter.checks.performance.opportunity import FUSING, Opportunity


class RotaryEmbedding(Opportunity):
    code = "PRT613"
    socs = FUSING
    offers = "torch_npu.npu_rotary_mul"
    patterns = {"rotary"}
