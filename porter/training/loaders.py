"""What a loader is for: whether anybody takes batches from it, and whether its samples lie in memory already."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, walk

if TYPE_CHECKING:
    from porter.training.scene import Scene

_IN_MEMORY = ("torch", "numpy")
_PLAIN = (ast.Tuple, ast.List, ast.Dict, ast.Subscript, ast.Attribute, ast.Name, ast.Constant, ast.expr_context)


def is_left(scene: Scene, link: Link) -> bool:
    """Whether a loader is built and nobody reads it: in a function, or in a notebook, from which nobody imports. `link` is
    that of what is called."""
    above = link[1][1]
    target: Node = above[0].targets[0] if above[0].__class__ is ast.Assign and len(above[0].targets) == 1 else None
    if target.__class__ is not ast.Name:
        return False
    around = scene.names.scopes.home(target.id, (target, above))
    alone = around.__class__ in FUNCTIONS or scene.file.path.endswith(".ipynb")
    return alone and not scene.names.readers(target.id, (target, above))


def lies_in_memory(scene: Scene, link: Link) -> bool:
    """Whether the samples of a loader are rows of tensors: a TensorDataset, or a class of the file that only indexes its own."""
    call = link[1][0]
    given: Node = next((k.value for k in call.keywords if k.arg == "dataset"), call.args[0] if call.args else None)
    made: list[Node] = [*values_of(scene.names, given, link)] if given.__class__ is ast.Name else [given]
    return bool(made) and all(value.__class__ is ast.Call and _is_of_rows(value, scene, link) for value in made)


def _is_of_rows(call: ast.Call, scene: Scene, link: Link) -> bool:
    name = call_name(call.func)
    if name == "TensorDataset":
        return True
    owner = scene.classes.get(name) if call.func.__class__ is ast.Name else None
    attributes = _indexed(owner) if owner is not None else ()
    values = scene.file.receivers.members(owner) if owner is not None else {}
    return bool(attributes) and all(_is_array(values.get(attribute, ()), scene, link) for attribute in attributes)


def _is_array(values: Sequence[Node], scene: Scene, link: Link) -> bool:
    """What torch or numpy made, but not a file that is mapped into memory, or read by and by."""
    names = [scene.names.resolve(v.func, link) or "" for v in values if v.__class__ is ast.Call]
    made = [name.partition(".")[0] in _IN_MEMORY and not name.endswith(("load", "memmap")) for name in names]
    return bool(made) and len(made) == len(values) and all(made)


@once
def _indexed(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes whose rows `__getitem__` returns, if it does nothing else."""
    method = next((s for s in owner.body if getattr(s, "name", "") == "__getitem__"), None)
    body: list[Node] = [s for s in getattr(method, "body", ()) if s.__class__ is not ast.Expr]
    if len(body) != 1 or body[0].__class__ is not ast.Return or body[0].value is None:
        return frozenset()
    nodes = [*walk(body[0].value)]
    if not all(isinstance(n, _PLAIN) for n in nodes):
        return frozenset()
    rows = [n.value for n in nodes if n.__class__ is ast.Subscript]
    return frozenset(
        row.attr for row in rows if row.__class__ is ast.Attribute and getattr(row.value, "id", "") == "self"
    )
