"""Says which names of a function are arrays of numpy, and no tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import Link, Node, walk

if TYPE_CHECKING:
    from porter.training.protocols import File
    from porter.training.scene import Scene


def asks_numpy(index: Node, scene: Scene, link: Link) -> bool:
    """Whether numpy makes a mask, so that what it selects from is an array: `x[np.isnan(x)]`."""
    return any(_is_of_numpy(n.func, scene, link) for n in walk(index) if n.__class__ is ast.Call)


def is_array(node: Node, scene: Scene, link: Link) -> bool:
    """Whether a name is an array: its function passes it to numpy, uses numpy's keyword: `x.sum(axis=0)`, or takes it, whole or
    in part, from `numpy()` of a tensor."""
    function = scene.function(link)
    if node.__class__ is not ast.Name or function is None:
        return False
    return any(_makes_array(value, scene, link) for value in values_of(scene.names, node, link)) or (
        node.id in _arrays(scene.file, function, scene)
    )


def _makes_array(value: Node, scene: Scene, link: Link) -> bool:
    if value.__class__ is ast.Subscript:
        while value.__class__ is ast.Subscript:
            value = value.value
        wholes: list[Node] = [*values_of(scene.names, value, link)] if value.__class__ is ast.Name else [value]
        return any(_is_numpy_of_tensor(whole) for whole in wholes)
    return value.__class__ is ast.Call and (_has_axis(value) or _is_numpy_of_tensor(value))


def _is_numpy_of_tensor(value: Node) -> bool:
    return value.__class__ is ast.Call and call_name(value.func) == "numpy"


@once_for_file
def _arrays(file: File, function: Link, scene: Scene) -> frozenset[str]:
    names: set[str] = set()
    for call in walk(function[0]):
        if call.__class__ is not ast.Call:
            continue
        if _has_axis(call):
            names.add(getattr(getattr(call.func, "value", None), "id", ""))
        handed = (a.left if a.__class__ is ast.Compare else a for a in call.args)
        if _is_of_numpy(call.func, scene, function):
            names.update(a.id for a in handed if a.__class__ is ast.Name)
    return frozenset(names)


def _is_of_numpy(func: Node, scene: Scene, link: Link) -> bool:
    return (scene.names.resolve(func, link) or "").partition(".")[0] in ("numpy", "scipy")


def _has_axis(call: Node) -> bool:
    return any(k.arg == "axis" for k in call.keywords)
