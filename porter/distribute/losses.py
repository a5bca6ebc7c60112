"""What a loss is made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.distribute.trace import Place, World
from porter.instrument.backward import counts_passes
from porter.python.evidence import call_name, constant
from porter.python.index import Node


def summed(world: World, place: Place, seen: set[int]) -> Place | None:
    """A call of which a loss is made that adds up over the batch and is not divided afterwards."""
    if _is_divided(place):
        return None
    for made in world.sources(place):
        if id(made.node) in seen or len(seen) > 100:
            continue
        seen.add(id(made.node))
        node = made.node
        if isinstance(node, ast.Call):
            if _says(node, "reduction", "sum") or _says(node, "size_average", False) or _adds_up(world, made):
                return made
            inner: list[Node] = [node.func] if isinstance(node.func, (ast.Name, ast.Attribute)) else []
        elif isinstance(node, ast.BinOp) and not (isinstance(node.op, ast.Div) and not counts_passes(node.right)):
            inner = [node.left, node.right]
        else:
            inner = []
        for part in inner:
            if (found := summed(world, made.within(part), seen)) is not None:
                return found
    return None


def _says(call: Node, name: str, value: object) -> bool:
    return any(k.arg == name and constant(k.value) == value for k in call.keywords)


def _adds_up(world: World, made: Place) -> bool:
    """`.sum()` of a loss that was made with reduction="none"."""
    call = made.node
    if call_name(call.func) != "sum" or call.keywords or len(call.args) > 1:
        return False
    of = call.args[0] if call.args else call.func.value
    return any(_says(each, "reduction", "none") for each in _calls(world, made.within(of)))


def _calls(world: World, place: Place) -> Iterator[Node]:
    """The calls that make a value, and those that make what they call."""
    for each in world.sources(place):
        if isinstance(each.node, ast.Call):
            yield each.node
            for maker in world.sources(each.within(each.node.func)):
                if isinstance(maker.node, ast.Call):
                    yield maker.node


def _is_divided(place: Place) -> bool:
    """`loss = loss / len(y)` and `loss /= len(y)` above the place: by samples, not by the passes of a step."""
    if not isinstance(place.node, ast.Name):
        return False
    for name, up in place.file.names.bindings(place.node.id, place.link):
        statement = up[0] if up else None
        if getattr(statement, "lineno", 0) >= place.node.lineno:
            continue
        divisor = _divisor(statement, name)
        if divisor is not None and not counts_passes(divisor):
            return True
    return False


def _divisor(statement: Node | None, name: Node) -> Node | None:
    """What a statement divides a name by."""
    if isinstance(statement, ast.AugAssign):
        return statement.value if isinstance(statement.op, ast.Div) else None
    value = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) and getattr(value.left, "id", None) == name.id:
        return value.right
    return None
