"""What torch.onnx.export is given, as ATC wants to hear it: `image:1,3,224,224` for each input."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.advice.trees import File, Link, Node, call_name, function_of

_MADE = frozenset({"randn", "rand", "zeros", "ones", "empty"})


def inputs(file: File) -> Iterator[tuple[str, int]]:
    """Of each export whose inputs are named and made here, with sizes that are numbers; -1 is a batch of any size."""
    if b"onnx" not in file.source.utf8:
        return
    for link in file.buckets[ast.Call]:
        call = link[0]
        if call_name(call.func) == "export" and "onnx" in ast.unparse(call.func) and len(call.args) > 1:
            given = {k.arg: k.value for k in call.keywords}
            names, shapes = _names(given.get("input_names")), _shapes(call.args[1], link, file)
            if names and len(names) == len(shapes):
                moving = _moving(given.get("dynamic_axes"))
                if moving is not None and moving <= set(names):
                    parts = (f"{n}:{','.join(map(str, _sized(s, n in moving)))}" for n, s in zip(names, shapes))
                    yield ";".join(parts), call.lineno


def _sized(shape: list[int], moves: bool) -> list[int]:
    return [-1, *shape[1:]] if moves else shape


def _names(node: Node) -> list[str]:
    items = node.elts if node.__class__ in (ast.List, ast.Tuple) else []
    names = [item.value for item in items if item.__class__ is ast.Constant and item.value.__class__ is str]
    return names if len(names) == len(items) else []


def _moving(node: Node) -> set[str] | None:
    """The names whose first axis moves, beside outputs; None where other axes move, or which is not known."""
    if node is None:
        return set()
    if node.__class__ is not ast.Dict:
        return None
    moving: set[str] = set()
    for key, axes in zip(node.keys, node.values):
        name: Node = getattr(key, "value", None)
        numbers = axes.keys if axes.__class__ is ast.Dict else getattr(axes, "elts", [None])
        if name.__class__ is not str or [getattr(n, "value", None) for n in numbers] != [0]:
            return None
        moving.add(name)
    return moving


def _shapes(node: Node, link: Link, file: File) -> list[list[int]]:
    items = node.elts if node.__class__ is ast.Tuple else [node]
    shapes = [_shape(item, link, file) for item in items]
    return shapes if all(shapes) else []


def _shape(node: Node, link: Link, file: File) -> list[int]:
    if node.__class__ is ast.Name:
        function = function_of(link)
        values = [
            other[0].value
            for other in file.buckets.get(ast.Assign, ())
            if getattr(other[0].targets[0], "id", "") == node.id and function_of(other) is function
        ]
        node = values[0] if len(values) == 1 else None
    while node.__class__ is ast.Call and call_name(node.func) in ("cuda", "to", "npu", "cpu", "float", "half"):
        node = node.func.value
    if node.__class__ is not ast.Call or call_name(node.func) not in _MADE:
        return []
    sizes = node.args[0].elts if node.args and node.args[0].__class__ in (ast.Tuple, ast.List) else node.args
    numbers = [size.value for size in sizes if size.__class__ is ast.Constant and size.value.__class__ is int]
    return numbers if len(numbers) == len(sizes) else []
