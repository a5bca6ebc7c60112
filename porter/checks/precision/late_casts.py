"""`torch.from_numpy(x).to(device)[t].float()`: what numpy made travels in float64, and is cast where it arrives."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.checks.precision.plain_numbers import is_number
from porter.engine.rule import cst
from porter.python.assigned import values_of
from porter.python.evidence import device_like
from porter.python.index import Link, Node
from porter.regex import lazy
from porter.rulebook.table import hints
from porter.training.placement import DEVICE

if TYPE_CHECKING:
    from porter.engine.rule_file import Names as AnyNames
    from porter.python.names import Names
    from porter.training.scene import Scene

TAKERS = frozenset({"torch.from_numpy", "torch.tensor", "torch.as_tensor"})
_MAKERS = hints("makes-float64")
# of a Python number they give a number of numpy, which torch.tensor takes as float64
_OF_NUMBERS = frozenset(f"numpy.{name}" for name in "log log2 log10 log1p exp exp2 expm1 sqrt sin cos tan tanh".split())
# where those of _MAKERS that take a type take it, named or not
_TYPE_AT = {
    "numpy.zeros": 1, "numpy.ones": 1, "numpy.empty": 1, "numpy.identity": 1, "numpy.eye": 3, "numpy.linspace": 5, "numpy.logspace": 5,
}  # fmt: skip
_CASTS = frozenset({"float", "half", "bfloat16"})
CASTING = _CASTS | {"to", "type"}
_TYPES = frozenset(f"torch.{name}" for name in ("float32", "float", "float16", "half", "bfloat16"))
# of the numbers as they are, so that a cast may stand in front of it
_ARRANGING = frozenset(
    "contiguous reshape unsqueeze squeeze expand permute transpose detach clone flatten t repeat pin_memory".split()
)
_NARROW = lazy(
    r"float(?:32|16)|half|u?int(?:8|16|32|64)?\b|bool|imread|Image|dtype="
)  # what says that it is no float64


def is_double(names: AnyNames, call: Node, link: Link) -> bool:
    """Whether a call takes from numpy what is float64, and names no other type."""
    source: Node = call.args[0] if call.args else None
    if source.__class__ is not ast.Call or any(k.arg == "dtype" for k in [*call.keywords, *source.keywords]):
        return False
    name = names.resolve(source.func, (source, link)) or ""
    if name in _MAKERS:
        return len(source.args) <= _TYPE_AT.get(name, len(source.args))
    return name in _OF_NUMBERS and len(source.args) == 1 and is_number(source.args[0], (source, link))


def is_late(scene: Scene, link: Link) -> bool:
    """Whether a call casts to a smaller float what was taken from numpy and moved to the device before, in its chain."""
    call = link[0]
    if not _casts(scene.names, call, link):
        return False
    taker, indices = _before_the_move(call)
    name = taker is not None and scene.names.resolve(taker.func, link)
    if name not in TAKERS or any(k.arg == "device" for k in taker.keywords):
        return False
    if is_double(scene.names, taker, link):
        return True
    by_tensor = any(scene.natures.of(index, link) == DEVICE for index in indices)
    return name == "torch.from_numpy" and by_tensor and not _is_narrow(scene.names, taker, link)


def _casts(names: AnyNames, call: ast.Call, link: Link) -> bool:
    called = getattr(call.func, "attr", "")
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "dtype")]
    if called in _CASTS:
        return not call.args and not call.keywords
    return (
        called in ("to", "type")
        and len(given) == len(call.args) + len(call.keywords) == 1
        and names.resolve(given[0], link) in _TYPES
    )


def _before_the_move(call: Node) -> tuple[Node, list[Node]]:
    """What a chain starts with, and what picks from it, where all that stands between is a move or arranges numbers."""
    node, indices, moved = call.func.value, list[Node](), False
    while True:
        if node.__class__ is ast.Subscript:
            indices += getattr(node.slice, "elts", [node.slice])
            node = node.value
            continue
        func: Node = getattr(node, "func", None)
        inner = func.value if func.__class__ is ast.Attribute else None
        if inner.__class__ not in (ast.Call, ast.Subscript):
            return (node if moved and node.__class__ is ast.Call else None), indices
        if _is_move(node):
            moved = True
        elif node.func.attr not in _ARRANGING:
            return None, indices
        node = inner


def _is_move(call: Node) -> bool:
    """`.to(device)`, `.to(device=x.device, non_blocking=True)`, `.cuda()`, and no type."""
    if call.func.attr in ("cuda", "npu"):
        return True
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "device")]
    return call.func.attr == "to" and len(given) == 1 and device_like(given[0]) and not _names_type(call)


def _names_type(call: ast.Call) -> bool:
    return any(k.arg not in ("device", "non_blocking", "copy") for k in call.keywords)


def _is_narrow(names: Names, taker: ast.Call, link: Link) -> bool:
    """Whether anything says that the array has another type than float64."""
    array: Node = taker.args[0] if taker.args else None
    values = values_of(names, array, link) if array.__class__ is ast.Name else []
    return array is None or any(_NARROW.search(ast.unparse(value)) for value in (array, *values))


def cast_first(call: Any) -> cst.BaseExpression:
    """The chain with the cast that ends it right behind what it starts with."""
    chain: cst.BaseExpression = _with_cast(call.func.value, call)
    return chain.with_changes(lpar=[*call.lpar, *chain.lpar], rpar=[*chain.rpar, *call.rpar])


def taker_of(call: Any) -> Any:
    """The call that a chain starts with."""
    node = call
    while not _begins(node):
        node = node.value if isinstance(node, cst.Subscript) else node.func.value
    return node


def _begins(node: Any) -> bool:
    """Whether nothing of a chain stands in front of it."""
    return isinstance(node, cst.Call) and not (
        isinstance(node.func, cst.Attribute) and isinstance(node.func.value, (cst.Call, cst.Subscript))
    )


def _with_cast(node: Any, cast: Any) -> Any:
    if _begins(node):
        return cast.with_changes(func=cast.func.with_changes(value=node), lpar=[], rpar=[])
    if isinstance(node, cst.Subscript):
        return node.with_changes(value=_with_cast(node.value, cast))
    return node.with_changes(func=node.func.with_changes(value=_with_cast(node.func.value, cast)))
