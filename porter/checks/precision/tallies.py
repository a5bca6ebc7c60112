"""Casts to float64 for which float32 does: of a mean that is added to a total for a report, of a count, of one step."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import call_name
from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.training.scene import Scene
# of a cast that is taken back: a step that rounds once, and the cast back
_STEPS = (frozenset({"reciprocal", "sqrt", "rsqrt", "neg", "abs"}), frozenset({"float", "half", "bfloat16"}))


def is_tallied(scene: Scene, link: Link) -> bool:
    """`total += x.mean().double()`, by the link of `x.mean().double`, of a total that nobody takes gradients of."""
    above, reduced = link[1][1][0], link[0].value
    return _adds(above) and above.target.id not in scene.losses(link) and _is_mean(reduced)


def _adds(node: Node) -> bool:
    return node.__class__ is ast.AugAssign and node.op.__class__ is ast.Add and node.target.__class__ is ast.Name


def _is_mean(node: Node) -> bool:
    """Of everything: one number."""
    return node.__class__ is ast.Call and call_name(node.func) == "mean" and not (node.args or node.keywords)


def is_share(call: Link) -> bool:
    """`correct.double() / len(samples)`, by the link of the call: a share of what a list holds is a count of small numbers."""
    above: Node = call[1][0] if call[1] is not None else None
    if above.__class__ is not ast.BinOp or above.op.__class__ is not ast.Div or above.left is not call[0]:
        return False
    return above.right.__class__ is ast.Call and call_name(above.right.func) == "len"


def returns(call: Link) -> bool:
    """`scale.double().reciprocal().float()`, by the link of the first call: one step, and float32 again at once."""
    steps: list[str] = []
    while call[1] is not None and call[1][0].__class__ is ast.Attribute and call[1][1][0].__class__ is ast.Call:
        call = call[1][1]
        steps.append("" if call[0].args or call[0].keywords else call[0].func.attr)
    return len(steps) == len(_STEPS) and all(step in known for step, known in zip(steps, _STEPS))
