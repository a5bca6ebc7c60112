"""A normalisation of a sum, or before an activation: two kernels where the target has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from porter.checks.performance import layer_lists, prefilters
from porter.checks.performance.opportunity import FUSING, Opportunity, Seen
from porter.engine.rule_file import RuleFile

if TYPE_CHECKING:
    from porter.values.patterns import Match

NEW = {"add-layer-norm": "torch_npu.npu_add_layer_norm", "group-norm-silu": "torch_npu.npu_group_norm_swish"}


class NormAndNeighbour(Opportunity):
    code = "PRT619"
    socs = FUSING
    patterns = {"norm"}
    calls = {"torch.nn.GroupNorm"}
    only = staticmethod(prefilters.is_activated)

    def find(self, original: Any, file: RuleFile) -> Seen | None:
        if opportunity := super().find(original, file):
            return opportunity
        if file.name(original.func) not in self.calls:
            return None
        new, link = NEW["group-norm-silu"], file.scene.link(original)
        scene: Any = file.scene
        beside = link is not None and layer_lists.activated(scene, link)
        return (original, "sequence", (("new", new),)) if beside and file.session.has(new) else None

    def offered(self, match: Match, file: RuleFile) -> str | None:
        return NEW[match.why] if file.session.has(NEW[match.why]) else None
