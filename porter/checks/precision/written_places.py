"""Where the expression around a value says that it is: on the CPU, or moved to a device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.evidence import DEVICES, call_name, constant, device_like
from porter.python.index import Link, Node
from porter.python.waits import COPIES

if TYPE_CHECKING:
    from porter.python.names import Names

CPU = COPIES | {"from_numpy", "as_tensor"}  # on the way: what is computed on the CPU
MOVES = frozenset({"cuda", "npu", "to"})


def on_cpu(link: Link) -> bool:
    """Whether the words before or behind a call in its chain say that it is computed on the CPU."""
    node = link[0]
    while node.__class__ in (ast.Call, ast.Attribute, ast.Subscript):
        if node.__class__ is ast.Call and (call_name(node.func) in CPU or to_cpu(node)):
            return True
        node = node.func if node.__class__ is ast.Call else node.value
    if node.__class__ is ast.Name and "cpu" in node.id:
        return True
    while link[1] is not None and link[1][0].__class__ in (ast.Call, ast.Attribute):
        above = link[1][0]
        if above.__class__ is ast.Attribute and above.attr in ("numpy", "tolist"):
            return True
        if above.__class__ is ast.Call and above.func is not link[0]:
            return False
        link = link[1]
    return False


def to_cpu(call: Node) -> bool:
    """`x.to("cpu")`, `torch.device("cpu")`"""
    if call.__class__ is not ast.Call:
        return False
    arguments = [*call.args, *(k.value for k in call.keywords if k.arg == "device")]
    return call_name(call.func) in ("to", "device") and any(constant(a) == "cpu" for a in arguments)


def names_cpu(node: Node, names: Names, link: Link) -> bool:
    """Whether an expression stands for the CPU: `"cpu"`, `torch.device("cpu")`, a name that is set to nothing else."""
    values = values_of(names, node, link) if node.__class__ is ast.Name else [node]
    return bool(values) and all(constant(value) == "cpu" or to_cpu(value) for value in values)


def moved(link: Link) -> bool:
    """`torch.linspace(...).to(device)`, `.cuda()`, anywhere behind in the chain."""
    while (link := link[1]) is not None and (node := link[0]).__class__ in (ast.Call, ast.Attribute):
        if node.__class__ is ast.Call and call_name(node.func) in MOVES:
            first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "device"), None)
            if call_name(node.func) != "to" or first is not None and device_like(first):
                return True
            if isinstance(text := constant(first), str) and text.partition(":")[0] in DEVICES - {"cpu", "meta"}:
                return True
    return False
