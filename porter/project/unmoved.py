"""Finds tensors that a default device does not move, in programs that set a default type of tensors.

The port replaces the default type by a default device. Tensors that it does not move need a look.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping

from porter.files.paths import is_test
from porter.python.evidence import call_name
from porter.python.graphs import reached
from porter.python.index import Node
from porter.python.walks import walk
from porter.regex import lazy

_SETTER = b"set_default_tensor_type"
# a default device does not move what these make, or they fail: a loader that shuffles has its generator on the CPU
_UNMOVED = lazy(rb"\b(?:DataLoader|random_split|Tensor)[ \t]*\(")
IN_LAYERS = "!"
_LAYERS = "fairscale.nn.model_parallel.layers"  # which makes its weights by `torch.Tensor(rows, columns)`


def unmoved_places(
    texts: Mapping[str, bytes],
    parse: Callable[[bytes], ast.Module | None],
    imported: Callable[[str], Iterable[str]],
) -> tuple[tuple[str, str], ...]:
    """(file that sets a default type, "path:line" of such a tensor in the same program, or "", with "!" behind where a library makes it in
    layers); () where the project has no such tensor. `imported`: the files that a file imports."""
    setters = [path for path in sorted(texts) if _SETTER in texts[path]]
    places: dict[str, str] = {}
    for path in sorted(texts) if setters else ():
        text = texts[path]
        if b"torch" in text and not is_test(path) and (_LAYERS.encode() in text or _UNMOVED.search(text)):
            tree = parse(text)
            found: list[Node] = [node for node in walk(tree) if is_unmoved(node) or _is_of_layers(node)] if tree else []
            if found:
                places[path] = f"{min(node.lineno for node in found)}{IN_LAYERS if _LAYERS.encode() in text else ''}"
    if not places:
        return ()
    importers: dict[str, set[str]] = {}
    for path in texts:
        if not is_test(path):  # tests import everything
            for file in imported(path):
                importers.setdefault(file, set()).add(path)
    above = {path: reached([path], lambda file: importers.get(file, ())) for path in {*setters, *places}}
    return tuple((path, _place(path, places, above)) for path in setters)


def _place(path: str, places: Mapping[str, str], above: Mapping[str, set[str]]) -> str:
    """A place in the file itself, or in one that runs with it: one imports the other, or a third imports both."""
    near = [p for p in places if not above[p].isdisjoint(above[path])]
    found = path if path in places else min(near, key=lambda p: not places[p].endswith(IN_LAYERS), default="")
    return found and f"{found}:{places[found]}"


def _is_of_layers(node: Node) -> bool:
    return node.__class__ is ast.ImportFrom and node.module == _LAYERS


def is_unmoved(node: Node) -> bool:
    """Whether a node is a call whose result a default device does not move."""
    func: Node = getattr(node, "func", None)
    if func.__class__ not in (ast.Name, ast.Attribute) or not node.args:
        return False
    name = call_name(func)
    return (
        name in ("DataLoader", "random_split") or name == "Tensor" and ast.unparse(func) in ("Tensor", "torch.Tensor")
    )
