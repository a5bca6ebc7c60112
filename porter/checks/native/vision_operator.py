"""Operators of torchvision.ops: compiled for the CPU and for CUDA."""

from __future__ import annotations

import ast
from typing import Any, cast

from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import DEFAULT_DEVICE
from porter.python.index import Link, methods
from porter.training.host_copies import lies_on_host

OPERATORS = ("nms", "batched_nms", "roi_align", "RoIAlign", "roi_pool", "RoIPool", "ps_roi_align", "PSRoIAlign",
             "ps_roi_pool", "PSRoIPool", "deform_conv2d", "DeformConv2d", "MultiScaleRoIAlign")  # fmt: skip
MODULES = ("torch.ops.torchvision", "torchvision.ops",
           *(f"torchvision.ops.{file}" for file in ("boxes", "roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "poolers", "deform_conv")))  # fmt: skip

# what makes a tensor of the host
_OF_HOST = frozenset({"torch.Tensor", "torch.FloatTensor", "torch.from_numpy", "torch.tensor"})


class VisionOperator(Rule):
    code = "PRT410"
    edits = False
    references = frozenset(f"{module}.{name}" for module in MODULES for name in OPERATORS)

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        name, link = file.name(original) or "", file.link(original)
        owner = file.scene.owner(link) if link is not None else None
        if owner is not None and "__getitem__" in methods(owner):  # a dataset's: the workers of a loader have no device
            return None
        if link is not None and _is_on_host(link, file):
            return None
        # one import serves all of them
        values = (("called", name.removeprefix("torch.ops.")), (TOGETHER, "adapter"))
        return Hit(original, "operator", values=values)


def _is_on_host(link: Link, file: RuleFile) -> bool:
    """Whether an operator is called with a tensor of the host: `nms(boxes=torch.Tensor(found[:, :4]), ...)`."""
    while link[1] is not None and isinstance(link[1][0], ast.Attribute):  # the link of `ops.nms` is that of `ops`
        link = link[1]
    call = link[1] and link[1][0]
    if not isinstance(call, ast.Call) or call.func is not link[0]:
        return False
    first = next(iter([*call.args, *(k.value for k in call.keywords)]), None)
    return first is not None and (_is_made(first, link, file) or lies_on_host(cast("Any", file.scene), first, link[1]))


def _is_made(node: ast.expr, link: Link, file: RuleFile) -> bool:
    """Whether a tensor is made of what the host has; not where the file makes all tensors on a device."""
    if not isinstance(node, ast.Call) or any(k.arg in ("device", None) for k in node.keywords):
        return False
    return file.names.resolve(node.func, link) in _OF_HOST and not file.source.says(DEFAULT_DEVICE)
