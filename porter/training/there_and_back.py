"""Finds values that a function sends to the device for one computation and fetches back: `net(x.to(device)).cpu()`. What is sent
lies on the host, as does what comes back."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once
from porter.python.evidence import call_name, constant, device_like
from porter.python.index import Link, Node, walk
from porter.training.placement import HOST

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene

_KEEPING = frozenset({"clone", "detach", "contiguous", "float", "unsqueeze", "squeeze"})


def stays_on_host(scene: AnyScene, node: Node, link: Link) -> bool:
    """Whether an expression lies on the host: by its nature, or as a name that is sent only in what is fetched back. False in a
    function without the word `cpu`."""
    function = scene.function(link)
    if function is None or not scene.file.source.says(b"cpu", function[0]):
        return False
    if scene.natures.of(node, link) == HOST:
        return True
    while node.__class__ is ast.Call and getattr(node.func, "attr", "") in _KEEPING:
        node = node.func.value
    return node.__class__ is ast.Name and node.id in _sent(function[0]) - _moved(function[0])


@once
def _sent(function: Node) -> frozenset[str]:
    """The names that are sent in what is fetched back."""
    fetched = [n for n in walk(function) if n.__class__ is ast.Call and _fetches(n)]
    return frozenset(getattr(c.func.value, "id", "") for n in fetched for c in walk(n.func.value) if _sends(c)) - {""}


@once
def _moved(function: Node) -> frozenset[str]:
    """The names that are set to what lies on the device: `x = x.to(device)`."""
    sets = [n for n in walk(function) if n.__class__ is ast.Assign and any(map(_sends, walk(n.value)))]
    sets = [n for n in sets if not any(c.__class__ is ast.Call and _fetches(c) for c in walk(n.value))]
    return frozenset(name.id for n in sets for t in n.targets for name in walk(t) if name.__class__ is ast.Name)


def _fetches(call: Node) -> bool:
    if call.func.__class__ is not ast.Attribute:
        return False
    return call.func.attr == "cpu" or call.func.attr == "to" and [constant(a) for a in call.args] == ["cpu"]


def _sends(call: Node) -> bool:
    """`x.to(self.device)`, `x.cuda()`"""
    if call.__class__ is not ast.Call or call.func.__class__ is not ast.Attribute:
        return False
    to = call_name(call.func) == "to" and any(device_like(a) for a in call.args)
    return to or call.func.attr in ("cuda", "npu")
