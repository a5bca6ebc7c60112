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


def on_cpu(names: Names, link: Link) -> bool:
    """Whether the words before or behind a call in its chain say that it is computed on the CPU. Of several, the nearest counts:
    `x.cpu().cuda().double()` is computed on the device, and so is what is copied from there behind the call, `x.double().cpu().numpy()`.
    """
    node = link[0]
    while node.__class__ in (ast.Call, ast.Attribute, ast.Subscript):
        if node.__class__ is ast.Call:
            if to_device(node, names, link):
                return False
            if call_name(node.func) in CPU or to_cpu(node):
                return True
        node = node.func if node.__class__ is ast.Call else node.value
    if node.__class__ is ast.Name and "cpu" in node.id:
        return True
    while link[1] is not None and link[1][0].__class__ in (ast.Call, ast.Attribute):
        above = link[1][0]
        if above.__class__ is ast.Attribute and above.attr in ("numpy", "tolist"):
            return True
        if above.__class__ is ast.Attribute and above.attr == "cpu":
            return False
        if above.__class__ is ast.Call and (above.func is not link[0] or to_cpu(above)):
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


def moved(names: Names, link: Link) -> bool:
    """`torch.linspace(...).to(device)`, `.cuda()`, anywhere behind in the chain."""
    while (link := link[1]) is not None and (node := link[0]).__class__ in (ast.Call, ast.Attribute):
        if node.__class__ is ast.Call and to_device(node, names, link):
            return True
    return False


def to_device(call: Node, names: Names, link: Link) -> bool:
    """`x.cuda()`, `x.to(device)`, `torch.as_tensor(x, device="cuda")`. Of `device`, the CPU where the file sets it to nothing else.
    `link`: of a place in the same scope."""
    name = call_name(call.func)
    if name in ("cuda", "npu"):
        return True
    if name != "to" and name not in CPU:
        return False
    given = next(
        (k.value for k in call.keywords if k.arg == "device"), call.args[0] if call.args and name == "to" else None
    )
    if given is None or names_cpu(given, names, link):
        return False
    text = constant(given)
    return device_like(given) or isinstance(text, str) and text.partition(":")[0] in DEVICES - {"cpu", "meta"}
