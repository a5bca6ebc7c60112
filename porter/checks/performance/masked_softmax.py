"""Scores that are scaled, masked and normalised by a softmax, where the whole is no attention that one call makes."""

from __future__ import annotations

from typing import Any

from porter.checks.performance.opportunity import FUSING, Opportunity, Seen
from porter.checks.performance.other_attention import chooses
from porter.engine.rule_file import RuleFile


class MaskedSoftmax(Opportunity):
    code = "PRT621"
    socs = FUSING
    offers = "torch_npu.npu_scaled_masked_softmax"
    patterns = {"masked-softmax"}

    def find(self, original: Any, file: RuleFile) -> Seen | None:
        return (
            None
            if chooses(file, file.scene.link(original)) or file.matches(original, ("attention",))
            else super().find(original, file)
        )
