"""Scores that are scaled, masked and normalised by a softmax, where the whole is no attention that one call makes."""

from __future__ import annotations

from .opportunity import FUSING, Opportunity


class MaskedSoftmax(Opportunity):
    code, slug = "PRT621", "masked-softmax"
    socs = FUSING
    offers = "torch_npu.npu_scaled_masked_softmax"
    patterns = {"masked-softmax"}

    def find(self, original, file):
        if b"scaled_dot_product_attention" in file.source.utf8 or file.matches(original, ("attention",)):
            return None  # a file that has both keeps this one for where the other does not exist
        return super().find(original, file)
