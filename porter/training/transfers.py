"""Finds calls that move a tensor to a device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import below
from porter.python.evidence import call_name, constant, device_like
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.training.protocols import File

# names of objects whose `device` is a setting, not the place of a tensor
_HOLDERS = lazy(
    r"(?i)^(?:self|args|cfg|conf|config|opts?|options|hparams|hps|accelerator|fabric|trainer)$|model|net|encoder|decoder"
)
_DEVICE = lazy(r"(?:cuda|npu|gpu)(?::|$)")


def moves(call: ast.Call) -> bool:
    """Whether a call names a device that is not the CPU: `x.to(...)`, `torch.zeros(..., device=...)`."""
    given = [
        *(call.args[:1] if call_name(call.func) == "to" else ()),
        *(k.value for k in call.keywords if k.arg == "device"),
    ]
    return any(_is_device(v) for v in given)


def is_moved(node: Node) -> bool:
    """Whether a value was moved there, whatever was made of it since: `x.to(device).detach()`, `Net().cuda()`."""
    while node.__class__ is ast.Call and node.func.__class__ is ast.Attribute:
        if _moves_there(node):
            return True
        node = node.func.value
    return False


def is_moved_behind(call: Link) -> bool:
    """`batch = resize(batch)`, and the next that the block does with it is `batch.cuda()`: it is called on the host."""
    statement = call[1]
    if (
        statement is None
        or statement[0].__class__ is not ast.Assign
        or statement[0].targets[0].__class__ is not ast.Name
    ):
        return False
    name = statement[0].targets[0].id
    for later in below(statement):
        nodes = [*walk(later)]
        if any(node.__class__ is ast.Name and node.id == name for node in nodes):
            calls = (n for n in nodes if n.__class__ is ast.Call and n.func.__class__ is ast.Attribute)
            return any(getattr(n.func.value, "id", "") == name and _moves_there(n) for n in calls)
    return False


def dataset_moves(file: RuleFile | File) -> bool:
    """Whether a `__getitem__` of the file puts its samples on the device."""
    return any(link[0].name == "__getitem__" and _moves_in(link[0]) for link in file.buckets[ast.FunctionDef])


def collate_moves(file: RuleFile) -> bool:
    """The same of a function that collates."""
    return any("collate" in link[0].name and _moves_in(link[0]) for link in file.buckets[ast.FunctionDef])


def _moves_in(function: Node) -> bool:
    calls = (n for n in walk(function) if n.__class__ is ast.Call and n.func.__class__ is ast.Attribute)
    return any(map(_moves_there, calls))


def _moves_there(call: Node) -> bool:
    return call.func.attr in ("cuda", "npu") or moves(call)


def follows_data(link: Link) -> bool:
    """Whether a condition around asks for the device of another object: `if graph.device != cpu`, `if graph_device != cpu`."""
    tests = (a[0].test for a in ancestors(link) if a[0].__class__ is ast.If)
    asked = (n for test in tests for c in walk(test) if c.__class__ is ast.Compare for n in walk(c))
    return any(_lies_at(n) if n.__class__ is ast.Attribute else call_name(n).endswith("_device") for n in asked)


def _lies_at(node: ast.Attribute) -> bool:
    """Whether an attribute is the device of another tensor: `x.device`."""
    return node.attr == "device" and not _HOLDERS.search(call_name(node.value))


def _is_device(node: Node) -> bool:
    text = constant(node.values[0] if node.__class__ is ast.JoinedStr and node.values else node)
    if isinstance(text, str):
        return bool(_DEVICE.match(text))
    if node.__class__ is ast.Attribute and _lies_at(node):
        return False
    return device_like(node) and not any(constant(n) == "cpu" for n in walk(node))
