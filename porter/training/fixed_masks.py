"""Finds masks that are made of sizes alone: `~torch.eye(n, dtype=torch.bool)`. As many of their places are true in every batch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.training.scene import Scene

# functions of torch whose result follows from numbers
_MAKES = frozenset("arange eye ones zeros full linspace range tril_indices triu_indices".split())
# functions and methods whose result follows from their tensors
_KEEPS = frozenset(
    """to bool float long int half double type cuda npu cpu view reshape unsqueeze squeeze t transpose permute flatten repeat expand
    contiguous clone detach logical_not logical_and logical_or logical_xor eq ne gt lt ge le triu tril cat concat stack roll flip
    fill_diagonal_ expand_as view_as""".split()
)
_OF_TWO = frozenset("logical_and logical_or logical_xor eq ne gt lt ge le".split())


def is_fixed(node: Node, scene: Scene, link: Link) -> bool:
    """Whether a tensor follows from sizes and numbers."""
    todo, seen = [node], set[str]()
    while todo:
        node = todo.pop()
        if node.__class__ is ast.Name:
            parts: list[Node] = [] if node.id in seen else [*values_of(scene.names, node, link)]
            if not parts and node.id not in seen and not _counts(node, scene, link):
                return False
            seen.add(node.id)
        else:
            made_of = _parts(node, scene, link)
            if made_of is None:
                return False
            parts = made_of
        todo += parts
    return True


def selects(scene: Scene, link: Link, *, is_method: bool) -> bool:
    """Whether the mask of a `masked_select` follows from sizes and numbers. `link`: of the function that is called."""
    call = link[1][0]
    masks = [*call.args[0 if is_method else 1 :], *(k.value for k in call.keywords if k.arg == "mask")]
    return len(masks) == 1 and is_fixed(masks[0], scene, link)


def is_even(link: Link) -> bool:
    """Whether each sample has as many of what a mask selects, as its new shape says: `x[mask].reshape(batch, -1, width)`."""
    call: Node = link[1][1][0] if link[1][0].__class__ is ast.Attribute and link[1][1] is not None else None
    if call.__class__ is not ast.Call or call.func is not link[1][0] or call.func.attr not in ("reshape", "view"):
        return False
    sizes = call.args[0].elts if len(call.args) == 1 and call.args[0].__class__ is ast.Tuple else call.args
    samples = sizes[0] if len(sizes) > 1 else None
    return (
        samples is not None
        and constant(samples) is None
        and ast.unparse(samples) != "-1"
        and "-1" in map(ast.unparse, sizes[1:])
    )


def _counts(name: ast.Name, scene: Scene, link: Link) -> bool:
    """Whether a name counts the rounds of a loop: `for i in range(n)`."""
    rounds = [getattr(up[0], "iter", None) for _, up in scene.names.bindings(name.id, link) if up is not None]
    return bool(rounds) and all(call_name(getattr(each, "func", None)) == "range" for each in rounds)


def _parts(node: Node, scene: Scene, link: Link) -> list[Node] | None:
    """The tensors that an expression follows from; None where it may follow from anything else."""
    kind = node.__class__
    if kind is ast.Call:
        return _parts_of_call(node, scene, link)
    if kind is ast.Tuple:  # x[..., mask]
        return _tensors(node.elts)
    if kind is ast.Compare:
        return _tensors([node.left, *node.comparators])
    if kind is ast.BinOp:
        return _tensors([node.left, node.right])
    if kind is ast.Subscript:
        return _tensors([node.value, node.slice])
    if kind is ast.UnaryOp:
        return [node.operand]
    return [node.value] if kind is ast.Attribute and node.attr in ("T", "mT") else None


def _tensors(nodes: list[Node]) -> list[Node] | None:
    """Numbers are no tensors; None where nothing else is there."""
    return [n for n in nodes if n.__class__ not in (ast.Constant, ast.Slice)] or None


def _parts_of_call(call: ast.Call, scene: Scene, link: Link) -> list[Node] | None:
    name, full = call_name(call.func), scene.names.resolve(call.func, link)
    given: list[Node] = [*call.args]
    if full == f"torch.{name}":
        if name in _MAKES:
            return []
        listed = given[0] if name in ("cat", "concat", "stack") and given else None
        if isinstance(listed, (ast.List, ast.Tuple)):
            return _tensors([*listed.elts])
        if isinstance(listed, (ast.ListComp, ast.GeneratorExp)):
            return [listed.elt]
    elif full is None and isinstance(call.func, ast.Attribute):
        given = [call.func.value, *given]
    else:
        return None
    if name not in _KEEPS or not given:
        return None
    return _tensors(
        given if name in _OF_TWO else given[:1]
    )  # of a function, its first argument; of one of two tensors, both
