"""Operators of torchvision.ops: compiled for the CPU and for CUDA."""

from __future__ import annotations

from porter.engine.rule import Hit, Rule

OPERATORS = ("nms", "batched_nms", "roi_align", "RoIAlign", "roi_pool", "RoIPool", "ps_roi_align", "PSRoIAlign",
             "ps_roi_pool", "PSRoIPool", "deform_conv2d", "DeformConv2d", "MultiScaleRoIAlign")  # fmt: skip


class VisionOperator(Rule):
    code = "PRT410"
    edits = False
    references = frozenset(
        {f"torchvision.ops.{name}" for name in OPERATORS} | {f"torch.ops.torchvision.{name}" for name in OPERATORS}
    )

    def visit(self, original, updated, file):
        name = file.name(original)
        return Hit(original, "operator", values=(("name", name.removeprefix("torch.ops.")),))
