"""`F.silu(a) * b` of the halves of one tensor (SwiGLU), and the same with gelu (GEGLU)."""

from __future__ import annotations

from .opportunity import Opportunity

NEW = {"silu": "torch_npu.npu_swiglu", "gelu": "torch_npu.npu_geglu"}


class GatedActivation(Opportunity):
    code, slug = "PRT612", "gated-activation"
    calls = frozenset(f"torch.nn.functional.{name}" for name in NEW)
    only = "gate"

    def find(self, original, file):
        link = file.scene.link(original)
        if link is None or not file.glance(self.only, link):
            return None
        last = file.name(original.func).rpartition(".")[2]
        return original, last, (("new", NEW[last]),)
