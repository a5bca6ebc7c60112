"""A loader that copies the next batch on a stream of its own, written by hand: torch_npu brings one."""

from __future__ import annotations

from porter.checks.performance import prefilters
from porter.checks.performance.opportunity import Opportunity, Seen
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile


class DataPrefetcher(Opportunity):
    code = "PRT641"
    offers = "torch_npu.contrib.Prefetcher"
    calls = {"torch.cuda.Stream"}
    only = staticmethod(prefilters.prefetches)

    def find(self, original: cst.Call, file: RuleFile) -> Seen | None:
        link = file.scene.link(original)
        if link is None or not file.glance(prefilters.prefetches, link):
            return None
        owner = file.scene.owner(link)
        return (original.func, "by-hand", (("name", owner.name),)) if owner is not None else None
