"""Finds branches that compute with the version of CUDA: `if torch.cuda.is_available(): tag = "cu" + torch.version.cuda`.

Beside an NPU that version is None, so that the way without a GPU is the right one, as long as the branch does nothing for a device.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.capabilities import is_reached
from porter.python.evidence import MOVES, call_name, constant, logged
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

VERSION, AMD = "torch.version.cuda", "torch.version.hip"
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_PARSES = frozenset({"int", "float", "parse", "parse_version", "Version", "LooseVersion", "StrictVersion"})
_PASSED = (ast.IfExp, ast.Tuple, ast.keyword)  # what hands a value on as it is
_NAMES = ("torch.version.", "torch.__version__")  # of torch, and yet no work on a device
# nor is what only asks one, before the port and after it
_ASKS = lazy(
    r"torch\.\w+\.(?:(?:get|is|has)_\w+|\w+_count|current_device\w*|(?:max_)?memory_\w+|mem_get_info|nccl\.version)$"
)


def taken(file: File, opened: Link, yes: bool = True) -> str | None:
    """The version, if one side of an `if` computes with it and does nothing for a device."""
    mentions = _computed(file)
    if not any(is_reached(mention, opened, yes) for mention in mentions):
        return None
    side: Node | list[Node] = opened[0].body if yes else opened[0].orelse
    parts = side if isinstance(side, list) else [side]
    return None if any(is_for_device(file, inner, opened) for part in parts for inner in walk(part)) else VERSION


def asked_beside(file: RuleFile, link: Link) -> str:
    """The version, if something else of the condition says it: `x.device.type != "cuda" or torch.version.cuda is None`."""
    child: Node = link[0]
    for above, _ in ancestors(link):
        if above.__class__ is ast.BoolOp:
            others = (node for value in above.values if value is not child for node in walk(value))
            if any(node.__class__ is ast.Attribute and ast.unparse(node) == VERSION for node in others):
                return VERSION
        elif isinstance(above, ast.stmt):
            return ""
        child = above
    return ""


def asks_for_amd(part: Node) -> bool:
    """`torch.version.hip`, or that it is not None"""
    if part.__class__ is ast.Compare and isinstance(part.ops[0], ast.IsNot) and constant(part.comparators[0]) is None:
        part = part.left
    return part.__class__ is ast.Attribute and ast.unparse(part) == AMD


@once_for_file
def _computed(file: File) -> tuple[Link, ...]:
    """The places of the version that a file computes with."""
    if not any(name.startswith(VERSION) for name in file.apis):
        return ()
    return tuple(mention for mention in file.meaning.mentions.of(frozenset({VERSION})) if _is_computed(file, mention))


def _is_computed(file: File, value: Link, depth: int = 0) -> bool:
    """Whether something is done with a value for which None is not as good."""
    child = value[0]
    for up in ancestors(value):
        above, kind = up[0], up[0].__class__
        if kind is ast.Attribute or kind is ast.Subscript and child is above.value:
            return True
        if _writes(above):  # a person is told as much by None
            return not logged(up)
        if kind is ast.BinOp:
            return isinstance(above.op, ast.Add)
        if kind is ast.Compare:
            return isinstance(above.ops[0], ORDERS)
        if kind is ast.Call:
            return child is not above.func and call_name(above.func) in _PARSES
        if kind is ast.Assign and len(above.targets) == 1 and above.targets[0].__class__ is ast.Name and not depth:
            readers = file.names.readers(above.targets[0].id, (above.targets[0], up))
            return any(_is_computed(file, reader, 1) for reader in readers)
        if kind not in _PASSED or kind is ast.IfExp and child is above.test:
            return False
        child = above
    return False


def _writes(node: Node) -> bool:
    """Whether a text is made: `f"cu{version}"`, `"cu%s" % version`, `"cu{}".format(version)`."""
    if node.__class__ is ast.BinOp:
        return isinstance(node.op, ast.Mod)
    return node.__class__ is ast.FormattedValue or node.__class__ is ast.Call and call_name(node.func) == "format"


def is_for_device(file: File, node: Node, link: Link) -> bool:
    """`model.cuda()`, `x.to(device)`, "cuda:0", `torch.zeros(2)`; what only asks a device is none."""
    text = constant(node)
    if isinstance(text, str):
        return text.partition(":")[0] == "cuda"
    if node.__class__ is not ast.Call:
        return False
    name = file.names.resolve(node.func, link) or ""
    if name.startswith("torch."):
        return not name.startswith(_NAMES) and _ASKS.match(name) is None
    return not name and call_name(node.func) in MOVES
