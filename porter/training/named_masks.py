"""Finds masks that only their names tell: `x[visibility_filter]`, `logits[batch.valid_mask]`. Nothing is written for them, nor for
what a check for trouble writes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk
from porter.rulebook.table import hint

if TYPE_CHECKING:
    from porter.training.scene import Scene

_MASKS = hint("mask")
# methods after which a mask is one still
_VIEWS = frozenset("view reshape unsqueeze expand expand_as squeeze flatten repeat to detach contiguous".split())
_REDUCING = frozenset({"any", "all"})  # along a dimension, of booleans
# what gives positions, and no mask
_POSITIONS = frozenset(
    "nonzero where topk argsort argmax argmin sort randperm arange randint multinomial long int tensor list range".split()
)


def is_named(node: Node, scene: Scene, link: Link) -> bool:
    """Whether an index is called a mask, and nothing in its function says that it holds positions."""
    if node.__class__ is ast.Tuple:
        # beside a position for each row, there is a position for each row
        rows = any(_is_a_row_each(part, scene, link) for part in node.elts)
        return not rows and any(is_named(part, scene, link) for part in node.elts)
    while True:
        if node.__class__ is ast.Call and getattr(node.func, "attr", "") in _VIEWS:
            node = node.func.value
        elif (
            node.__class__ is ast.Call and getattr(node.func, "attr", "") in _REDUCING and (node.args or node.keywords)
        ):
            return True
        elif node.__class__ is ast.Subscript:
            node = node.value
        else:
            break
    if node.__class__ is ast.Attribute:
        return bool(_MASKS.search(node.attr))
    if node.__class__ is not ast.Name or node.id.isupper() or not _MASKS.search(node.id):
        return False  # batch[OBS_MASK] looks a key up
    return not any(_gives_positions(value) for value in values_of(scene.names, node, link))


def _is_a_row_each(part: Node, scene: Scene, link: Link) -> bool:
    """Whether an index counts rows: `torch.arange(n)`, `torch.arange(n)[:, None]`, or a name that is set to one."""
    values = values_of(scene.names, part, link) if part.__class__ is ast.Name else [part]
    return any(_counts_rows(value) for value in values)


def _counts_rows(value: Node) -> bool:
    while True:
        if value.__class__ is ast.Subscript:
            value = value.value
        elif value.__class__ is ast.Call and value.func.__class__ is ast.Attribute and value.func.attr in _VIEWS:
            value = value.func.value
        else:
            return value.__class__ is ast.Call and call_name(value.func) in ("arange", "range")


def _gives_positions(value: Node) -> bool:
    while value.__class__ is ast.Subscript:
        value = value.value
    called = value.__class__ is ast.Call and call_name(value.func) in _POSITIONS
    return called or value.__class__ in (ast.Constant, ast.List, ast.ListComp, ast.Tuple)


def is_below_trouble(link: Link) -> bool:
    """Whether a place stands where only trouble leads: below `if torch.isnan(loss)`, or in the `else` of `if not torch.isnan(loss)`."""
    inner = link[0]
    for above, _ in ancestors(link):
        if above.__class__ is ast.If and _is_trouble(above.test, inner in above.body):
            return True
        inner = above
    return False


def _is_trouble(test: Node, answer: bool) -> bool:
    """Whether a test finds trouble where its answer is `answer`. Where that is not clear, it does."""
    if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        return _is_trouble(test.operand, not answer)
    if test.__class__ is ast.BoolOp:
        return any(_is_trouble(value, answer) for value in test.values)
    nodes = [*walk(test)]
    asks = any(n.__class__ is ast.Call and call_name(n.func) in ("isnan", "isinf") for n in nodes)
    return asks and (answer or any(n.__class__ in (ast.Compare, ast.UnaryOp) for n in nodes))  # isnan(x).sum() == 0
