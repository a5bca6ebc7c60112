"""Tensors made without a device in `forward`, and the tensor of the model they meet."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once, within
from porter.python.evidence import call_name
from porter.python.index import Link, Node
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.training.scene import Scene

_USES = hints("used-as-a-tensor")
_NUMBERS = frozenset("size shape dim ndim numel item tolist dtype device stride".split())
_JOINS = frozenset("cat concat stack where matmul bmm mul add sub div maximum minimum hstack vstack".split())
_MOVES = frozenset("to cuda npu type_as cpu numpy tolist".split())


def met(scene: Scene, link: Link) -> str | None:
    """The parameter of `forward` whose device the result of a call needs: it is added to it, joined with it, ..."""
    function, call = scene.function(link), link[1]
    if function is None:
        return None
    tensors = _tensors(function[0], scene)
    if (name := _beside(call, tensors)) is not None:
        return name
    above = call[1] and call[1][0]
    if above.__class__ is not ast.Assign or len(above.targets) != 1 or above.targets[0].__class__ is not ast.Name:
        return None
    target = above.targets[0]
    if values_of(scene.names, target, call[1]) != [above.value]:
        return None
    uses = scene.names.readers(target.id, (target, call[1]))
    return scene.names.once(("met", function[0]), uses, lambda: _first_beside(uses, tensors))


def _first_beside(uses: list[Link], tensors: set[str]) -> str | None:
    if any(u[1][0].__class__ is ast.Attribute and u[1][0].attr in _MOVES for u in uses):
        return None
    return next((name for use in uses if (name := _beside(use, tensors)) is not None), None)


@once
def _tensors(function: Node, scene: Scene) -> set[str]:
    """Parameters that the function treats as tensors, and binds to nothing else."""
    asked, bound = scene.natures.asked(function)
    names = {a.arg for a in [*function.args.posonlyargs, *function.args.args][1:]}
    return {name for name in names - bound if not _USES.isdisjoint(asked.get(name, ()))}


def _beside(link: Link, tensors: set[str]) -> str | None:
    """`link + x`, `torch.cat([link, x])`."""
    node, above = link[0], link[1] and link[1][0]
    if above.__class__ is ast.BinOp and above.op.__class__ not in (ast.Mod, ast.Pow):
        return _is_one(above.right if above.left is node else above.left, tensors)
    if above.__class__ in (ast.List, ast.Tuple):
        call = link[1][1] and link[1][1][0]
        if call.__class__ is ast.Call and call_name(call.func) in _JOINS and call.args and call.args[0] is above:
            return next((name for e, name in _listed(above, tensors) if e is not node), None)
    if above.__class__ is ast.Call and within(above, node, "args") and call_name(above.func) in _JOINS:
        return next((name for s, name in _listed(above, tensors) if s is not node), None)
    return None


@once
def _listed(above: Node, tensors: set[str]) -> tuple[tuple[ast.expr, str], ...]:
    """The tensors of the function among what is joined."""
    parts = above.args if above.__class__ is ast.Call else above.elts
    return tuple((part, name) for part in parts if (name := _is_one(part, tensors)))


def _is_one(node: Node, tensors: set[str]) -> str | None:
    """`x`, `x[:, 0]`, `x.float()`: a parameter that is a tensor, or a tensor made of one."""
    while True:
        if node.__class__ is ast.Name:
            return node.id if node.id in tensors else None
        if node.__class__ is ast.Call and node.func.__class__ is ast.Attribute and node.func.attr not in _NUMBERS:
            node = node.func.value
        elif node.__class__ is ast.Subscript and not (
            node.value.__class__ is ast.Attribute and node.value.attr in _NUMBERS
        ):
            node = node.value
        else:
            return None
