"""Layers that stand one behind the other in `nn.Sequential(...)` or in a list of layers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import place
from porter.python.evidence import constant
from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.training.scene import Scene

_SILU = frozenset({"torch.nn.SiLU", "torch.nn.modules.activation.SiLU"})


def activated(scene: Scene, link: Link) -> bool:
    """Whether SiLU follows a normalisation that has weights; the link is that of what is called."""
    call, above = link[1][0], link[1][1] and link[1][1][0]
    if call.__class__ is not ast.Call or any(k.arg == "affine" and constant(k.value) is False for k in call.keywords):
        return False
    field, index = place(above, call) if above is not None else ("", -1)
    row = getattr(above, field) if field in ("args", "elts") else []
    after: Node = row[index + 1] if index + 1 < len(row) else None
    return after.__class__ is ast.Call and scene.names.resolve(after.func, link) in _SILU
