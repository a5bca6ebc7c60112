"""GELU written with erf, tanh or a sigmoid: five to nine kernels of which one is enough."""

from __future__ import annotations

from .opportunity import Opportunity

NEW = {"sigmoid": "torch_npu.npu_fast_gelu"}


class GeluByHand(Opportunity):
    code, slug = "PRT624", "gelu-by-hand"
    patterns = {"gelu"}

    def offered(self, match, file):
        new = NEW.get(match.why, "torch.nn.functional.gelu")
        return new if file.has(new) or not new.startswith("torch_npu") else None
