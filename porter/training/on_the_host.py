"""Finds code that computes on the host: files that know no device but the CPU, drivers of workers, branches for tensors there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import above, once, once_for_file, place
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.parameters import parameters
from porter.regex import lazy, rare
from porter.training.made_there import FACTORIES

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene, File

# the file uses ray, or groups of its workers, to start work elsewhere
_DRIVES = lazy(rb"\bray\.(?:remote|get)\b|\bRayWorkerGroup\b")
_CPU = rare(rb"torch\.device\([ \t]*[\"']cpu[\"'][ \t]*\)")
_DEVICES = lazy(r"(?i)cuda|device|(?<!i)npu|^to$")  # a word of code that uses a device
_OTHER = lazy(r"(?i)cuda|gpu|device|(?<!i)npu|^mps|accelerat")
_HOST_TENSORS = frozenset(f"torch.{name}" for name in "FloatTensor LongTensor Tensor from_numpy tensor".split())
_MOVES = lazy(rb"cuda|(?<![Ii])npu|device|\.to\(")
_OPTIMISES = rare(
    rb"optim(?<=\boptim)(?:\.[A-Z]|[ \t]+import\b)"
)  # begins with plain letters, so that the search is fast
# what may put tensors elsewhere; not `device=x.device`
_ELSEWHERE = rare(
    rb"cuda|(?<![Ii])npu|set_default_(?:device|tensor_type)|[Aa]ccelerat(?:e\b|or)|lightning|\.device\(|\.to\([^)\n]*device"
    rb"|device(?<!\.device)(?!=\w+\.device\b)"
)
_COLLECTIVES = frozenset({"all_gather", "all_gather_into_tensor", "gather", "broadcast", "send"})
_PICKLES = frozenset({"bytes", "bytearray", "loads", "dumps"})


@once_for_file
def only_drives(file: File) -> bool:
    """Whether a file starts work in other processes, and uses no device itself."""
    return file.source.says(_DRIVES) and not any(
        _DEVICES.search(word) for node in walk(file.tree) for word in _words(node)
    )


@once_for_file
def knows_no_device(file: File) -> bool:
    """Whether the CPU is the only device that a file names: `self.device = torch.device("cpu")`."""
    if not file.source.says(_CPU):
        return False
    made = {link[0].func for link in file.buckets[ast.Call] if _makes_cpu(link[0])}
    own = (node for node in walk(file.tree) if node not in made and not _is_own_device(node))
    return not any(_OTHER.search(word) for node in own for word in _words(node))


def is_test_of_host(file: File, link: Link) -> bool:
    """Whether a place is in a test, or a function without parameters that tests have, whose code names no device."""
    functions = [up[0] for up in ancestors(link) if up[0].__class__ in FUNCTIONS[:2]]
    if not file.tested or not functions:
        return False
    outermost = functions[-1]
    return (outermost.name.startswith("test") or not parameters(outermost)) and _names_no_device(outermost)


@once
def _names_no_device(function: Node) -> bool:
    return not any(_OTHER.search(word) for node in walk(function) for word in _words(node))


@once_for_file
def optimises_there(file: File) -> bool:
    """Whether all that a file optimises is made on the host, as tensors of the device could not be computed with it:
    `shift = torch.randn(1, 3)`, `torch.optim.LBFGS([shift, turn])`."""
    if not file.source.says(_OPTIMISES) or file.source.says(_ELSEWHERE):
        return False
    made = [link for link in file.buckets[ast.Call] if _makes_optimiser(file, link)]
    return bool(made) and all(any(_is_made_there(file, name, link) for name in _optimised(link[0])) for link in made)


def _makes_optimiser(file: File, link: Link) -> bool:
    name = file.names.resolve(link[0].func, link) or ""
    return name.startswith("torch.optim.") and name.rpartition(".")[2][:1].isupper()


def _optimised(call: ast.Call) -> list[ast.Name]:
    """The names in the list that an optimiser gets."""
    values = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "params")]
    return [e for value in values for e in getattr(value, "elts", ()) if isinstance(e, ast.Name)]


def _is_made_there(file: File, name: ast.Name, link: Link) -> bool:
    values = values_of(file.names, name, link)
    return bool(values) and all(_has_host_tensor(file, value, link) for value in values)


def _has_host_tensor(file: File, value: Node, link: Link) -> bool:
    """`torch.randn(1, 3) * scale`"""
    if value.__class__ is ast.BinOp:
        return _has_host_tensor(file, value.left, link) or _has_host_tensor(file, value.right, link)
    if value.__class__ is not ast.Call or any(k.arg in ("device", None) for k in value.keywords):
        return False
    return file.names.resolve(value.func, link) in FACTORIES


def _is_own_device(node: Node) -> bool:
    """`self.device`"""
    return node.__class__ is ast.Attribute and node.attr == "device" and getattr(node.value, "id", "") == "self"


def _makes_cpu(call: ast.Call) -> bool:
    return call_name(call.func) == "device" and len(call.args) == 1 and constant(call.args[0]) == "cpu"


def _words(node: Node) -> list[str]:
    """The names in a node itself, and a text that is one word."""
    words = [getattr(node, field, None) for field in ("id", "attr", "arg", "name", "module", "value")]
    return [word for word in words if isinstance(word, str) and " " not in word]


def is_for_host(file: File, node: Node, child: Node, link: Link) -> bool:
    """Whether a statement of a block runs only for tensors on the host: in `if not x.is_cuda:`, or below `if x.is_cuda: return
    ...`. Where the way of the device calls more than torch, it may be a kernel that no NPU has: then the other way is ported."""
    if node.__class__ is ast.If and child is not node.test:
        inside = place(node, child)[0] == "body"
        asks = asks_for_device(node.test)
        if asks == (-1 if inside else 1) and _is_plain(node.orelse if inside else node.body, file, link):
            return True
    if not isinstance(child, ast.stmt):
        return False
    return bool(above(node, child, lambda statement: _takes_away(statement, file, link), is_for_host))


def _takes_away(statement: Node, file: File, link: Link) -> bool:
    """`if x.is_cuda: return ...`"""
    if statement.__class__ is not ast.If or statement.body[-1].__class__ is not ast.Return:
        return False
    return asks_for_device(statement.test) == 1 and _is_plain(statement.body, file, link)


def asks_for_device(test: Node) -> int:
    """1 for `x.is_cuda` and `x.device.type == "cuda"`, -1 for `not x.is_cuda` and `x.device.type == "cpu"`, 0 for anything
    else."""
    if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        return -asks_for_device(test.operand)
    if test.__class__ is ast.Attribute:
        return int(test.attr in ("is_cuda", "is_npu"))
    if test.__class__ is ast.Compare and len(test.ops) == 1 and test.ops[0].__class__ in (ast.Eq, ast.NotEq):
        of_type = test.left.__class__ is ast.Attribute and test.left.attr == "type"
        word = constant(test.comparators[0]) if of_type and getattr(test.left.value, "attr", "") == "device" else None
        sign = {"cuda": 1, "npu": 1, "cpu": -1}.get(word, 0) if isinstance(word, str) else 0
        return sign if test.ops[0].__class__ is ast.Eq else -sign
    return 0


def _is_plain(statements: list[Node], file: File, link: Link) -> bool:
    """Whether nothing but torch is called, and something is."""
    calls = [n for s in statements for n in walk(s) if n.__class__ is ast.Call]
    return bool(calls) and all((file.names.resolve(c.func, link) or "").startswith("torch.") for c in calls)


def is_pickled(link: Link) -> bool:
    """Whether a value is read to become bytes, or an object again, which the host does: `pickle.loads(bytes(x.tolist()))`."""
    calls = (above[0] for above in ancestors(link[1]) if above[0].__class__ is ast.Call)
    return any(call_name(call.func) in _PICKLES for call in calls)


def sends_objects(scene: AnyScene, link: Link) -> bool:
    """Whether it stands in a function that sends pickled objects: how much to pad is for the host, which makes the bytes."""
    function = scene.function(link)
    return function is not None and scene.file.source.says(b"pickle") and _pickles(function[0])


@once
def _pickles(function: Node) -> bool:
    called = {call_name(node.func) for node in walk(function) if node.__class__ is ast.Call}
    return not called.isdisjoint({"loads", "dumps"}) and not called.isdisjoint(_COLLECTIVES)


def is_made_there(file: File, link: Link) -> bool:
    """Whether the first argument of a call is made on the host, in a file that moves nothing: `Variable(torch.FloatTensor(x))`. `link`:
    of the function that is called."""
    call: Node = link[1][0]
    made = call.args[0] if call.__class__ is ast.Call and call.args else None
    name = file.names.resolve(made.func, link) if made.__class__ is ast.Call and made is not None else None
    return name in _HOST_TENSORS and not file.source.says(_MOVES)
