"""Why a collective of the training step need not be there."""

from __future__ import annotations

import ast
from typing import Any

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.regex import lazy

_CLOCKS = lazy(rb"perf_counter|monotonic|elapsed|enable_timing|\btime(?:_ns)?\(|[Tt]imer")
_GRADIENTS = lazy(r"(?i)(?:average|reduce|sync|sum|all_?reduce)\w*grad|grad\w*(?:average|reduce|sync)")
_RECEIVES = frozenset({"empty", "empty_like", "zeros", "zeros_like"})
_SINGLE = ("1", "[1]", "(1,)", "[]", "()")  # a flag, or a count


def reason(scene: Any, link: Link) -> str:
    """barrier | parameter | broadcast, or "" where there may be one. `link` is of what is called."""
    name = call_name(link[0])
    if name == "all_reduce":
        called = scene.matters(link) or _GRADIENTS.search(scene.function_name(link))
        return "parameter" if called and _is_of_parameter(link) else ""
    if not scene.matters(link):
        return ""
    if name == "barrier":
        function = scene.function(link)
        return "" if function is None or scene.file.source.says(_CLOCKS, function[0]) else "barrier"
    if name == "scatter":
        return "broadcast" if _is_handed_out(scene, link) else ""
    return "broadcast" if _is_batch(scene, link) else ""


def _is_of_parameter(link: Link) -> bool:
    """`dist.all_reduce(p.grad)` of a p that a loop takes."""
    call = link[1][0]
    tensor: Node = call.args[0] if call.args else None
    while tensor.__class__ is ast.Attribute and tensor.attr == "data":
        tensor = tensor.value
    if tensor.__class__ is not ast.Attribute or tensor.attr != "grad" or tensor.value.__class__ is not ast.Name:
        return False
    for above, _ in ancestors(link):
        if above.__class__ in FUNCTIONS:
            return False
        if above.__class__ is ast.For and any(getattr(n, "id", "") == tensor.value.id for n in walk(above.target)):
            return True
    return False


def _is_handed_out(scene: Any, link: Link) -> bool:
    """Of `dist.scatter(x, parts)`, whether the first rank alone has the parts."""
    call = link[1][0]
    given = next(
        (k.value for k in call.keywords if k.arg == "scatter_list"), call.args[1] if len(call.args) > 1 else None
    )
    if given is None or len(call.args) > 3 or any(k.arg == "group" for k in call.keywords):
        return False
    values = values_of(scene.names, given, link) if given.__class__ is ast.Name else [given]
    branches = [part for value in values for part in _branches(value)]
    absent = [part.__class__ is ast.Constant and part.value is None for part in branches]
    return any(absent) and not all(absent)


def _is_batch(scene: Any, link: Link) -> bool:
    """Of `dist.broadcast(x, 0)`, whether x was made empty for what the first rank has read."""
    call = link[1][0]
    tensor: Node = call.args[0] if call.args else None
    if len(call.args) > 2 or any(k.arg == "group" for k in call.keywords):
        return False  # ranks of one group, which split a model, want the same batch
    if tensor.__class__ is not ast.Name or _is_looped(scene, link):
        return False
    values = [part for v in values_of(scene.names, tensor, link) for part in _branches(v)]
    empty = [_is_empty(value) for value in values]
    return any(empty) and not all(empty)


def _is_looped(scene: Any, link: Link) -> bool:
    """Whether a place is in a loop within the step: over parameters, buffers, tensors of a batch."""
    for above, _ in ancestors(link):
        if above in scene.steps or above.__class__ in FUNCTIONS:
            return False
        if above.__class__ is ast.For:
            return True
    return False


def _branches(value: Node) -> list[Node]:
    return [value.body, value.orelse] if value.__class__ is ast.IfExp else [value]


def _is_empty(value: Node) -> bool:
    """`torch.empty(shape, device="cuda")`, of more than a number."""
    while value.__class__ is ast.Call and call_name(value.func) in ("cuda", "npu", "to"):
        value = value.func.value
    if value.__class__ is not ast.Call or call_name(value.func) not in _RECEIVES or not value.args:
        return False
    return ast.unparse(value.args[0]) not in _SINGLE
