"""What a loader is for: whether anybody takes batches from it, and whether its dataset lies in memory."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, walk

if TYPE_CHECKING:
    from porter.training.scene import Scene

# what makes tensors and lists; of a mapped file nothing lies in memory
_MAKERS = frozenset(
    "tensor as_tensor stack cat zeros ones rand randn randint arange array asarray concatenate list FloatTensor LongTensor".split()
)


def is_left(scene: Scene, link: Link) -> bool:
    """Whether a loader is built and nobody takes a batch from it: in a function, or in a notebook, from which nobody imports. `link` is
    that of what is called."""
    above = link[1][1]
    target: Node = above[0].targets[0] if above[0].__class__ is ast.Assign and len(above[0].targets) == 1 else None
    if target.__class__ is not ast.Name:
        return False
    around = scene.names.scopes.home(target.id, (target, above))
    readers = scene.names.readers(target.id, (target, above))
    if readers and all(map(_is_counted, readers)):
        return True  # for a schedule of the learning rate
    alone = around.__class__ in FUNCTIONS or scene.file.path.endswith(".ipynb")
    return alone and not readers


def _is_counted(reader: Link) -> bool:
    """`len(loader)`"""
    above: Node = reader[1][0]
    return above.__class__ is ast.Call and getattr(above.func, "id", "") == "len"


def made_from(scene: Scene, dataset: Node, link: Link) -> str:
    """The arguments of the calls that a dataset is made by, where a name holds it."""
    values = values_of(scene.names, dataset, link) if isinstance(dataset, ast.Name) else []
    calls = [value for value in values if isinstance(value, ast.Call)]
    return " ".join(ast.unparse(part) for call in calls for part in (*call.args, *(k.value for k in call.keywords)))


def lies_in_memory(scene: Scene, dataset: Node, link: Link) -> bool:
    """Whether `__getitem__` of a class of this file takes nothing but items of what its `__init__` filled."""
    values = values_of(scene.names, dataset, link) if isinstance(dataset, ast.Name) else [dataset]
    names = [value.func.id for value in values if isinstance(value, ast.Call) and isinstance(value.func, ast.Name)]
    if not names or len(names) != len(values):
        return False
    classes = {link[0].name: link[0] for link in scene.file.buckets[ast.ClassDef]}
    return all(name in classes and _only_indexes(classes[name]) for name in names)


def _only_indexes(dataset: ast.ClassDef) -> bool:
    methods = {node.name: node for node in dataset.body if isinstance(node, ast.FunctionDef)}
    getter, maker = methods.get("__getitem__"), methods.get("__init__")
    if getter is None or maker is None or any(isinstance(node, ast.Call) for node in walk(getter)):
        return False
    taken = {node.attr for node in walk(getter) if isinstance(node, ast.Attribute) and _is_own(node)}
    filled = {
        target.attr
        for node in walk(maker)
        if isinstance(node, ast.Assign) and _is_made(node.value)
        for target in node.targets
        if isinstance(target, ast.Attribute) and _is_own(target)
    }
    return bool(taken) and taken <= filled


def _is_own(node: ast.Attribute) -> bool:
    return getattr(node.value, "id", "") == "self"


def _is_made(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return call_name(value.func) in _MAKERS
    return isinstance(value, (ast.List, ast.ListComp))
