"""A normalisation of a sum, or before an activation: two kernels where the target has one."""

from __future__ import annotations

from .opportunity import FUSING, Opportunity

NEW = {"add-layer-norm": "torch_npu.npu_add_layer_norm", "group-norm-silu": "torch_npu.npu_group_norm_swish"}


class NormAndNeighbour(Opportunity):
    code, slug = "PRT619", "norm-and-neighbour"
    socs = FUSING
    patterns = {"norm"}

    def offered(self, match, file):
        return NEW[match.why] if file.has(NEW[match.why]) else None
