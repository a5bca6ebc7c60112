"""Says whether a name holds an array of numpy, by what makes it and by what gets it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import Link, Node, walk

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext, File

# functions of numpy whose answer is an array, whatever they are given
_MAKERS = frozenset(
    f"numpy.{name}"
    for name in """arange array asarray ascontiguousarray concatenate empty eye full hstack linspace ones stack vstack
    zeros""".split()
)
_OF_ARRAYS = frozenset({"astype", "copy", "tofile"})  # methods that no tensor has


def asks_numpy(index: Node, scene: AnyContext, link: Link) -> bool:
    """Whether numpy makes the mask, so that the tensor is an array: `x[np.isnan(x)]`, also by a name."""
    made = [index, *(values_of(scene.names, index, link) if isinstance(index, ast.Name) else ())]
    return any(_is_of_numpy(n.func, scene, link) for value in made for n in walk(value) if n.__class__ is ast.Call)


def _is_of_numpy(func: Node, scene: AnyContext, link: Link) -> bool:
    return (scene.names.resolve(func, link) or "").partition(".")[0] in ("numpy", "scipy")


def is_array(node: Node, scene: AnyContext, link: Link) -> bool:
    """Whether a name is an array of numpy: its function passes it to numpy, or uses numpy's keyword: `x.sum(axis=0)`."""
    function = scene.function(link)
    if node.__class__ is not ast.Name or function is None:
        return False
    made = any(map(_makes_array, values_of(scene.names, node, link)))
    return made or node.id in _arrays(scene.file, function, scene)


@once_for_file
def _arrays(file: File, function: Link, scene: AnyContext) -> frozenset[str]:
    names: set[str] = set()
    for call in walk(function[0]):
        if call.__class__ is not ast.Call:
            continue
        if _has_axis(call) or getattr(call.func, "attr", "") in _OF_ARRAYS:
            names.add(getattr(getattr(call.func, "value", None), "id", ""))
        if _is_of_numpy(call.func, scene, function) or call_name(call.func) == "from_numpy":
            names.update(name for argument in call.args for name in _operands(argument))
    return frozenset(names)


def _operands(node: Node) -> Iterator[str]:
    """The names with which an argument of numpy is computed: `pred` and `gt` of `n * gt[k] + pred[k]`."""
    if node.__class__ is ast.BinOp:
        yield from _operands(node.left)
        yield from _operands(node.right)
    elif node.__class__ is ast.Compare:
        yield from _operands(node.left)
    elif node.__class__ is ast.Subscript:
        yield from _operands(node.value)
    elif node.__class__ is ast.Name:
        yield node.id


def _has_axis(call: Node) -> bool:
    return any(k.arg == "axis" for k in call.keywords)


def _makes_array(value: Node) -> bool:
    """Whether a value comes of a method of arrays, or of a calculation with one: `1 - layout.astype(np.float32)`. `copy.copy(x)`
    gives what it gets."""
    while value.__class__ in (ast.BinOp, ast.UnaryOp):
        if value.__class__ is ast.UnaryOp:
            value = value.operand
        elif _makes_array(value.right):
            return True
        else:
            value = value.left
    if value.__class__ is not ast.Call:
        return False
    of_array = value.func.__class__ is ast.Attribute and value.func.attr in ("astype", "copy")
    return _has_axis(value) or of_array and getattr(value.func.value, "id", "") != "copy"


@once_for_file
def made_by(file: File) -> frozenset[str]:
    """The functions of a file that return nothing but what numpy makes: `return np.array([a, b])`."""
    if not file.source.says(b"numpy"):
        return frozenset()
    functions: dict[str, list[Link]] = {}
    for link in file.buckets[ast.FunctionDef]:
        functions.setdefault(link[0].name, []).append(link)
    alone = (several[0] for several in functions.values() if len(several) == 1)
    return frozenset(link[0].name for link in alone if link[1][0].__class__ is ast.Module and _gives_arrays(file, link))


def _gives_arrays(file: File, function: Link) -> bool:
    first, last = function[0].lineno, function[0].end_lineno
    returns = [link for link in file.buckets[ast.Return] if first <= link[0].lineno <= last]
    return bool(returns) and all(_is_filled(file, link) for link in returns)


def _is_filled(file: File, link: Link) -> bool:
    """numpy's own reductions ask a tensor for its method, and give a tensor: `np.sum(x)`."""
    value = link[0].value
    full = file.names.resolve(value.func, link) if value.__class__ is ast.Call else None
    return full in _MAKERS
