"""Gives each mask a word, so that all uses of one mask can be joined. Views of a mask are the same mask."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import call_name
from porter.python.index import Link, Node
from porter.training import masks
from porter.training.named_masks import is_named

if TYPE_CHECKING:
    from porter.training.scene import Scene

# methods after which a mask is still the same
_VIEWS = frozenset("view reshape unsqueeze expand expand_as squeeze bool to".split())


def mask_of(scene: Scene, link: Link) -> str | None:
    """The word for the mask of `x[mask]`, `x[:, mask]` or `torch.masked_select(x, mask.view(-1, 1))`. It is the same wherever
    the function uses the same values as a mask. None where the mask has no name."""
    mask = _mask_expression(link[0], scene, link)
    while mask.__class__ is ast.Call and mask.func.__class__ is ast.Attribute and mask.func.attr in _VIEWS:
        mask = mask.func.value
    function = scene.function(link)
    if mask.__class__ is not ast.Name or function is None:
        return None
    flow = scene.flows.body(function)
    value = flow[0].at.get(mask) if flow else None  # the value of the name at this place (values/)
    if value is None:
        return None
    made = getattr(value.node, "lineno", 0), getattr(value.node, "col_offset", 0)
    return f"{function[0].lineno} {mask.id} {made}"


def _mask_expression(node: Node, scene: Scene, link: Link) -> Node:
    """The mask in the code: in the index of a subscript, or in the arguments of masked_select."""
    if node.__class__ is ast.Subscript:
        parts = node.slice.elts if node.slice.__class__ is ast.Tuple else [node.slice]
        picking = [part for part in parts if masks.is_mask(part, scene, link) or is_named(part, scene, link)]
        return picking[0] if len(picking) == 1 else None
    if node.__class__ is not ast.Call or call_name(node.func) != "masked_select":
        return None
    given = [k.value for k in node.keywords if k.arg == "mask"] or node.args[-1:]
    return given[0] if given else None
