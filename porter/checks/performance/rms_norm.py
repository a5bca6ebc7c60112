"""RMSNorm written with pow, mean and rsqrt: five kernels and as many passes over memory."""

from __future__ import annotations

from .opportunity import Opportunity


class RmsNorm(Opportunity):
    code, slug = "PRT611", "rms-norm"
    offers = "torch_npu.npu_rms_norm"
    calls = {"torch.rsqrt"}
    methods = {"rsqrt"}
    only = "rms-norm"

    def find(self, original, file):
        link = file.scene.link(original)
        return (original, "written-out", ()) if link is not None and file.glance(self.only, link) else None
