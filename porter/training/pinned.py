"""Finds copies of batches from a loader that pins its memory, for which the host waits."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.training import transfers

if TYPE_CHECKING:
    from porter.training.protocols import File
    from porter.training.scene import Scene

# functions that wrap a loader
_WRAPS = frozenset({"enumerate", "tqdm", "trange", "islice", "log_every", "track"})


def is_copied(scene: Scene, link: Link) -> bool:
    """Whether `x.cuda()` copies a part of a batch from such a loader, and the host waits for it. `link`: of `x.cuda`."""
    call = link[1][0]
    if call.__class__ is not ast.Call or call.func is not link[0] or link[0].__class__ is not ast.Attribute:
        return False
    if any(k.arg in ("non_blocking", None) for k in call.keywords) or not _pins(scene.file):
        return False
    if link[0].attr == "to" and not transfers.moves(call):
        return False
    part: Node = link[0].value
    while part.__class__ is ast.Subscript:
        part = part.value
    if part.__class__ is not ast.Name:
        return False
    for above in ancestors(link):
        if above[0].__class__ in FUNCTIONS:
            return False
        if above[0].__class__ is ast.For and any(getattr(n, "id", "") == part.id for n in walk(above[0].target)):
            return _is_pinned(scene, above[0].iter, above)
    return False


@once_for_file
def _pins(file: File) -> bool:
    return b"pin_memory" in file.source.vocabulary and b"DataLoader" in file.source.vocabulary


def _is_pinned(scene: Scene, node: Node, link: Link) -> bool:
    while node.__class__ is ast.Call and call_name(node.func) in _WRAPS and node.args:
        node = node.args[0]
    values = values_of(scene.names, node, link) if node.__class__ is ast.Name else [node]
    return bool(values) and all(_makes_pinned(value) for value in values)


def _makes_pinned(value: Node) -> bool:
    if value.__class__ is not ast.Call or not call_name(value.func).endswith("DataLoader"):
        return False
    return any(k.arg == "pin_memory" and constant(k.value) is True for k in value.keywords)
