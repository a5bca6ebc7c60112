"""Finds comparisons with a device that only choose another library: one of arrays, such as CuPy, or faiss.

An example is `use_gpu = device.type == "cuda"`, where use_gpu only decides whether arrays go to CuPy. Such a comparison must
stay as it is: on an NPU there is no CuPy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, ancestors, walk
from porter.python.library_branches import chosen_by, served
from porter.python.walks import children, statements
from porter.rulebook.table import hints

_LIBRARIES = hints("arrays-on-cuda")
# names of the libraries, as a text has them
_NAMES = tuple(name.encode() for name in sorted(_LIBRARIES))
# a name with one of these words says that the library is not there
_NOT = frozenset({"no", "not", "non", "without", "missing", "disable", "disabled"})
Switch = tuple[str, str, int, str]  # (function, parameter, its place among the arguments, library)


def is_named(text: bytes) -> bool:
    """Whether a text names one of the libraries."""
    return any(name in text for name in _NAMES)


def switches(tree: ast.Module) -> Iterator[Switch]:
    """The parameters of functions that only choose a library of arrays: `if use_gpu and HAS_CUPY`."""
    for function in statements(tree):
        if function.__class__ in FUNCTIONS[:2]:
            around = {below: above for above in walk(function) for below in children(above)}
            named: dict[str, list[Node]] = {}
            for node in around:
                if node.__class__ is ast.Name or node.__class__ is ast.arg:
                    named.setdefault(getattr(node, "id", "") or getattr(node, "arg", ""), []).append(node)
            for place, argument in enumerate((*function.args.args, *function.args.kwonlyargs)):
                if library := _only_for(named[argument.arg], around):
                    yield function.name, argument.arg, place, library


def _only_for(places: list[Node], around: dict[Node, Node]) -> str | None:
    """The library that a parameter chooses; None where a use of it has another purpose. `places`: of the name in its function."""
    uses = [node for node in places if node.__class__ is ast.Name]
    if len(places) != len(uses) + 1 or any(use.ctx.__class__ is not ast.Load for use in uses):
        return None
    found = [_asked_with(use, _chain(use, around))[0] for use in uses]
    return found[0] if found and all(found) else None


def _chain(node: Node, around: dict[Node, Node]) -> Iterator[Node]:
    """The nodes around a node, innermost first. `around`: the parent of each node."""
    while (above := around.get(node)) is not None:
        yield above
        node = above


def decides_for(file: RuleFile, literal: Link) -> str | None:
    """The library that a comparison with the string at `literal` chooses, if it decides about nothing else."""
    comparison = literal[1]
    node: Node = comparison[0] if file.facts.own.array_switches or any(map(file.source.says, _NAMES)) else None
    starts = node.__class__ is ast.Call and call_name(node.func) == "startswith" and literal[0] in node.args
    equal = node.__class__ is ast.Compare and len(node.ops) == 1 and node.ops[0].__class__ is ast.Eq
    return (_decided(file, comparison, 0) if starts or equal else None) or served(file, literal)


def _decided(file: RuleFile, answer: Link, depth: int) -> str | None:
    """The library that a value chooses, if the value is true on a GPU and decides about nothing else."""
    library, last = _asked_with(answer[0], (above for above, _ in ancestors(answer)))
    if library or depth > 2:
        return library
    link = next((up for up in (answer, *ancestors(answer)) if up[0] is last), answer)
    above = link[1]
    if above[0].__class__ is ast.keyword:
        return chosen_by(file, above[1], above[0])
    if above[0].__class__ is not ast.Assign or len(above[0].targets) != 1:
        return None
    target = above[0].targets[0]
    readers = file.names.readers(target.id, (target, above)) if target.__class__ is ast.Name else []
    found = [_decided(file, use, depth + 1) for use in readers]
    return found[0] if found and all(found) else None


def _asked_with(node: Node, chain: Iterable[Node]) -> tuple[str | None, Node]:
    """The library that stands with the node in an `and`, or in the name that it is assigned to; and the outermost `and` that
    the node is a part of."""
    for above in chain:
        if above.__class__ is ast.Assign and len(above.targets) == 1:
            return _library(above.targets[0]), node
        if above.__class__ is not ast.BoolOp or above.op.__class__ is not ast.And:
            break
        if library := next((word for value in above.values if value is not node and (word := _library(value))), None):
            return library, above
        node = above
    return None, node


def _library(node: Node) -> str | None:
    """The library whose presence an expression states: `HAS_CUPY`, `self.cupy_available`, `cupy is not None`."""
    if node.__class__ is ast.Compare and node.ops[0].__class__ is ast.IsNot and constant(node.comparators[0]) is None:
        node = node.left
    words = call_name(node).lower().split("_") if node.__class__ in (ast.Name, ast.Attribute) else []
    return next((word for word in words if word in _LIBRARIES), None) if _NOT.isdisjoint(words) else None
