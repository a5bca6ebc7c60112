"""Operators of torchvision.ops: compiled for the CPU and for CUDA."""

from __future__ import annotations

from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import methods

OPERATORS = ("nms", "batched_nms", "roi_align", "RoIAlign", "roi_pool", "RoIPool", "ps_roi_align", "PSRoIAlign",
             "ps_roi_pool", "PSRoIPool", "deform_conv2d", "DeformConv2d", "MultiScaleRoIAlign")  # fmt: skip
MODULES = ("torch.ops.torchvision", "torchvision.ops",
           *(f"torchvision.ops.{file}" for file in ("boxes", "roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "poolers", "deform_conv")))  # fmt: skip


class VisionOperator(Rule):
    code = "PRT410"
    edits = False
    references = frozenset(f"{module}.{name}" for module in MODULES for name in OPERATORS)

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        name, link = file.name(original) or "", file.link(original)
        owner = file.scene.owner(link) if link is not None else None
        if owner is not None and "__getitem__" in methods(owner):  # a dataset's: the workers of a loader have no device
            return None
        # one import serves all of them
        values = (("called", name.removeprefix("torch.ops.")), (TOGETHER, "adapter"))
        return Hit(original, "operator", values=values)
