"""`torch.cuda.synchronize()`, and `.synchronize()` of a stream or an event, where nothing is measured or copied back."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.index import Link, Node
from porter.regex import lazy
from porter.rulebook.table import any_of

if TYPE_CHECKING:
    from porter.training.scene import Scene

_MODULES = ("torch.cuda", "torch.npu", "torch_npu.npu")
FUNCTIONS = frozenset(f"{module}.synchronize" for module in (*_MODULES, "torch.accelerator"))
_MAKERS = frozenset(
    f"{module}.{name}"
    for module in (*_MODULES, "torch.cuda.streams", "torch")
    for name in ("Stream", "Event", "ExternalStream", "current_stream", "default_stream")
)
# the wait is what a clock needs, or what makes a copy to the host complete
_WANTS_IT = lazy(any_of("wants-to-wait").encode())
_WAITS_BY_NAME = lazy(r"(?i)sync|wait|time|tic|toc|offload|prefetch|preload|capture|warm_?up")


def is_superfluous(scene: Scene, link: Link) -> bool:
    """`link` is of what is called."""
    function = scene.function(link)
    if scene.file.tested or function is None or not _is_of_device(scene, link):
        return False
    owner = scene.owner(link)
    if any(_WAITS_BY_NAME.search(name) for name in (function[0].name, owner.name if owner is not None else "")):
        return False
    return not scene.file.source.says(_WANTS_IT, function[0])


def _is_of_device(scene: Scene, link: Link) -> bool:
    if scene.names.resolve(link[0], link) in FUNCTIONS:
        return True
    return link[0].__class__ is ast.Attribute and _is_made(scene, link[0].value, link)


def _is_made(scene: Scene, node: Node, link: Link) -> bool:
    """A stream or an event: made where it is asked, or wherever the name, or the member, is set."""
    if node.__class__ is ast.Call:
        return scene.names.resolve(node.func, link) in _MAKERS
    values: list[Node] = []
    if node.__class__ is ast.Name:
        values = list(values_of(scene.names, node, link))
    elif node.__class__ is ast.Attribute and (owner := scene.owner(link)) is not None:
        if getattr(node.value, "id", "") == "self":
            values = list(scene.file.receivers.members(owner).get(node.attr, ()))
    return bool(values) and all(v.__class__ is ast.Call and _is_made(scene, v, link) for v in values)
