"""A loader that copies the next batch on a stream of its own, written by hand: torch_npu brings one."""

from __future__ import annotations

from porter.checks.performance import prefilters
from porter.checks.performance.opportunity import Opportunity


class DataPrefetcher(Opportunity):
    code = "PRT641"
    offers = "torch_npu.contrib.Prefetcher"
    calls = {"torch.cuda.Stream"}
    only = staticmethod(prefilters.prefetches)

    def find(self, original, file):
        link = file.scene.link(original)
        if link is None or not file.glance(prefilters.prefetches, link):
            return None
        return original.func, "by-hand", (("name", file.scene.owner(link).name),)
