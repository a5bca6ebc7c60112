"""Finds masks that are drawn or made on the host, which so knows how many places they select: `torch.rand(size) > 0.5`, and
what is read of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import set_in_block, values_of
from porter.python.evidence import DEFAULT_DEVICE, call_name
from porter.python.index import Link, Node, walk
from porter.python.waits import SEARCHES
from porter.regex import lazy, rare
from porter.training.made_there import FACTORIES, is_factory
from porter.training.value_uses import MOVES, is_on_host

if TYPE_CHECKING:
    from porter.training.scene import Scene

# what meets an array of numpy lies on the host, or the program stops there
_ARRAYS = frozenset(f"numpy.{name}" for name in ("array", "asarray", "arange", "full", "linspace", "ones", "zeros"))

_FROM_NUMPY = "torch.from_numpy"
# functions whose tensor has a dimension: with none it may meet tensors of the device
_MAKE_ROWS = frozenset({"torch.randperm", "torch.arange", "torch.linspace"})
_SIZED = FACTORIES - {"torch.tensor"}  # with a size of their own; see `is_searched_there`
_SIZED_WORDS = lazy(rb"\b(?:rand|randn|randint|zeros|ones|empty|full|randperm|arange|linspace)\(")
_ROWS = rare(rb"\b(?:randperm|arange|linspace|from_numpy)\(")
_READ = (ast.Call, ast.Name, ast.Compare)


def selects_on_host(index: Node, scene: Scene, link: Link) -> bool:
    """Whether all masks of an index are tensors of the host."""
    parts = [p for p in getattr(index, "elts", [index]) if not isinstance(p, (ast.Slice, ast.Constant))]
    return bool(parts) and all(is_on_host(scene, part, link) or _Made(scene).on_host(part, link) for part in parts)


def is_read_there(node: Node, scene: Scene, link: Link) -> bool:
    """Whether a value follows from a row of the host: `torch.where(torch.randperm(n) == i)[0]`, an element of a list of such."""
    if not scene.file.source.says(_ROWS):
        return False
    while node.__class__ is ast.Subscript:
        node = node.value
    if node.__class__ is ast.Call and scene.names.resolve(node.func, link) is not None:
        if call_name(node.func) not in (*SEARCHES, "where") or len(node.args) != 1:
            return False
        node = node.args[0]
    return node.__class__ in _READ and _Made(scene, _MAKE_ROWS).on_host(node, link)


def is_searched_there(node: Node, scene: Scene, link: Link) -> bool:
    """Whether what is searched for its places is made on the host: `torch.nonzero(torch.rand(x.shape) < rate)`."""
    return scene.file.source.says(_SIZED_WORDS) and _Made(scene, _SIZED).on_host(node, link)


class _Made:
    """Whether a tensor follows from one that is made on the host. What it meets on the way lies there too, or is a number, unless
    the tensor may have no dimension: `factories` leaves these out."""

    def __init__(self, scene: Scene, factories: frozenset[str] = FACTORIES) -> None:
        self._scene, self._factories = scene, factories
        self._known: dict[str, bool] = {}  # the answers for names; `mask = ~mask` says nothing of where it lies

    def on_host(self, node: Node, link: Link) -> bool:
        kind = node.__class__
        if kind is ast.Name:
            return self._name(node, link)
        if kind is ast.BinOp:
            return self.on_host(node.left, link) or self.on_host(node.right, link)
        if kind is ast.Compare:
            arrays = (self._scene.names.resolve(getattr(n, "func", n), link) in _ARRAYS for n in node.comparators)
            return any(arrays) or self.on_host(node.left, link)
        if kind is ast.UnaryOp:
            return self.on_host(node.operand, link)
        if kind is ast.ListComp:
            return self.on_host(node.elt, (node.elt, (node, link)))
        return kind is ast.Call and self._call(node, link)

    def _call(self, node: ast.Call, link: Link) -> bool:
        full = self._scene.names.resolve(node.func, link)
        if full is not None:  # set_default_device: the device that makes all tensors
            if full in _ARRAYS or full == _FROM_NUMPY:
                return True
            known = full in self._factories and is_factory(full, node) and not _has_no_dimension(node)
            return known and not self._scene.file.source.says(DEFAULT_DEVICE)
        method: Node = node.func
        return method.__class__ is ast.Attribute and method.attr not in MOVES and self.on_host(method.value, link)

    def _name(self, node: ast.Name, link: Link) -> bool:
        if node.id not in self._known:
            self._known[node.id] = True
            values = set_in_block(self._scene.names, node, link)
            if not values or any(getattr(inner, "id", "") == node.id for inner in walk(values[0])):
                values = values_of(self._scene.names, node, link)
            made = (value.__class__ is not ast.Name and self.on_host(value, link) for value in values)
            self._known[node.id] = all(made) if values else self._element(node, link)
        return self._known[node.id]

    def _element(self, name: ast.Name, link: Link) -> bool:
        """`k for k in parts`, `p for p, q in zip(parts, others)`: whether the parts are made on the host."""
        bindings = self._scene.names.bindings(name.id, link)
        target, up = bindings[0] if len(bindings) == 1 else (None, None)
        index = None
        if up is not None and up[0].__class__ is ast.Tuple:
            index, up = up[0].elts.index(target), up[1]
        if up is None or up[0].__class__ is not ast.comprehension:
            return False
        parts: Node = up[0].iter
        if index is not None:
            if parts.__class__ is not ast.Call or call_name(parts.func) != "zip" or index >= len(parts.args):
                return False
            parts = parts.args[index]
        return self.on_host(parts, up[1])


def _has_no_dimension(call: ast.Call) -> bool:
    """`torch.zeros(())`, which may meet tensors of the device."""
    return call.args[:1] != [] and getattr(call.args[0], "elts", None) == []
