"""Whether what an expression gives is an iterator of Python's own or of a loader: `iter(loader)`, and where that is kept."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.python.assigned import values_of
from porter.python.blocks import within
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene

_BUILTINS = frozenset({"iter", "enumerate", "zip", "map", "filter", "reversed"})

_WITH_NEXT = frozenset({"tensorflow", "tensorflow_datasets", "nvidia", "mxnet"})  # libraries: nvidia.dali


def is_iterator(scene: AnyScene, node: Node, link: Link) -> bool:
    """`iter(loader)`, or a name, an item of a list or an attribute of `self` that only such calls are kept in."""
    if node.__class__ is ast.Call:
        return _makes(scene, node, link)
    if node.__class__ is ast.Name:
        bound = scene.names.bindings(node.id, (node, link))
        return _all_hold(scene, [b for b in bound if not _holds(scene, b, _makes_several)], _makes)
    if node.__class__ is ast.Subscript and node.value.__class__ is ast.Name:
        bound = scene.names.bindings(node.value.id, (node.value, (node, link)))
        return _all_hold(scene, [b for b in bound if not _holds(scene, b, _makes)], _makes_several)
    if node.__class__ is not ast.Attribute or getattr(node.value, "id", "") != "self":
        return False
    places = (a for a in scene.file.buckets[ast.Attribute] if a[0].attr == node.attr)
    stored = [a for a in places if a[0].ctx.__class__ is ast.Store]
    owner = _class_around(link)
    return any(_class_around(a) is owner for a in stored) and _all_hold(scene, stored, _makes)


def _class_around(link: Link) -> Node:
    return next((a[0] for a in ancestors(link) if a[0].__class__ is ast.ClassDef), None)


def _all_hold(scene: AnyScene, bound: list[Link], kind: Any) -> bool:
    """Whether every value is of this kind, but for `it = None` before there is one."""
    filled = [b for b in bound if not _is_none(_value(b))]
    return bool(filled) and all(_holds(scene, b, kind) for b in filled)


def _is_none(node: Node) -> bool:
    return node.__class__ is ast.Constant and node.value is None


def _holds(scene: AnyScene, bound: Link, kind: Any) -> bool:
    return bool(kind(scene, _value(bound), bound))


def _value(bound: Link) -> Node:
    """What `a = b = value` sets a target to, and `a, b = value, other`."""
    target, above = bound
    index = None
    if above and above[0].__class__ is ast.Tuple:
        index, (target, above) = above[0].elts.index(target), above
    if not above or above[0].__class__ is not ast.Assign or not within(above[0], target, "targets"):
        return None
    value: Node = above[0].value
    if index is None:
        return value
    return value.elts[index] if value.__class__ is ast.Tuple and len(value.elts) == len(target.elts) else None


def _makes(scene: AnyScene, node: Node, link: Link) -> bool:
    if node.__class__ is not ast.Call:
        return False
    if node.func.__class__ is ast.Attribute and node.func.attr == "__iter__" and not node.args:
        return not _may_have_next(scene) or _is_loader(scene, node.func.value, link)
    if node.func.__class__ is not ast.Name or node.func.id not in _BUILTINS:
        return (scene.names.resolve(node.func, link) or "").startswith("itertools.") or _yields(scene, node.func, link)
    if not node.args or scene.names.bindings(node.func.id, (node.func, (node, link))):
        return False
    # where there are iterators that do have a `next`, what is iterated must be known
    return node.func.id != "iter" or not _may_have_next(scene) or _is_loader(scene, node.args[0], link)


def _may_have_next(scene: AnyScene) -> bool:
    """Whether the project, or a library that the file imports, has iterators with a method `next`."""
    targets = (target for bindings in scene.names.imports.values() for target, _ in bindings)
    return bool(scene.file.facts.once.own_next) or any(target.partition(".")[0] in _WITH_NEXT for target in targets)


def _yields(scene: AnyScene, function: Node, link: Link) -> bool:
    """Whether it is a generator of this file: `def batches():`, `while True:`, `yield next_batch`."""
    if function.__class__ is not ast.Name:
        return False
    bound = scene.names.bindings(function.id, (function, link))
    around = getattr(bound[0][0], "body", None) if len(bound) == 1 else None  # a definition is bound where it stands
    made = [s for s in around or () if s.__class__ is ast.FunctionDef and s.name == function.id]
    if len(made) != 1 or made[0].decorator_list:
        return False
    inner = [node for node in walk(made[0]) if node is not made[0]]
    if any(node.__class__ in (*FUNCTIONS, ast.ClassDef) for node in inner):
        return False  # whose `yield` it is
    return any(node.__class__ in (ast.Yield, ast.YieldFrom) for node in inner)


def _makes_several(scene: AnyScene, node: Node, link: Link) -> bool:
    """`[iter(loader) for loader in loaders]`, `{"train": iter(loader)}`"""
    if node.__class__ in (ast.ListComp, ast.DictComp):
        return _makes(scene, node.elt if node.__class__ is ast.ListComp else node.value, link)
    items = node.values if node.__class__ is ast.Dict else getattr(node, "elts", ())
    return bool(items) and all(_makes(scene, item, link) for item in items)


def _is_loader(scene: AnyScene, node: Node, link: Link) -> bool:
    values: list[Node] = values_of(scene.names, node, link) if node.__class__ is ast.Name else [node]
    return bool(values) and all(v.__class__ is ast.Call and call_name(v.func).endswith("DataLoader") for v in values)
