"""Functions that hand out a TensorDataset, which lies in memory: their loaders have nothing to read that a worker could bring."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Node
from porter.python.trees import Parse
from porter.python.walks import statements, walk
from porter.regex import lazy

_MADE = b"TensorDataset("
_OWN = lazy(rb"class[ \t]+TensorDataset\b")
_DEFINED = lazy(rb"def[ \t]+(\w+)[ \t]*\(")


def memory_datasets(texts: Mapping[str, bytes], parse: Parse) -> tuple[str, ...]:
    """The names of functions and methods of which every one in the project that returns something returns such a dataset."""
    making = [data for data in texts.values() if _MADE in data]
    if any(map(_OWN.search, making)):
        return ()
    found = {name for data in making for name, is_one in _functions(parse(data)) if is_one}
    if not found:
        return ()
    others = {
        name
        for data in texts.values()
        if not found.isdisjoint(n.decode() for n in _DEFINED.findall(data))
        for name, is_one in _functions(parse(data))
        if is_one is False
    }
    return tuple(sorted(found - others))


def _functions(tree: ast.Module | None) -> Iterator[tuple[str, bool | None]]:
    """The functions of a file, and whether they return a TensorDataset; None of one that returns nothing, as an abstract method."""
    for node in statements(tree) if tree else ():
        if node.__class__ not in FUNCTIONS:
            continue
        held = _held(node)
        values = [n.value for n in walk(node) if n.__class__ is ast.Return and n.value is not None]
        if not values and not any(n.__class__ in (ast.Yield, ast.YieldFrom) for n in walk(node)):
            yield node.name, None
        else:
            # with the examples beside it, it is taken apart by who calls
            plain = [v for v in values if v.__class__ is not ast.Tuple]
            yield node.name, bool(plain) and all(_is_one(v) or getattr(v, "id", "") in held for v in plain)


def _held(function: Node) -> set[str]:
    """The names that a function sets to nothing but TensorDatasets."""
    values: dict[str, list[Node]] = {}
    for node in walk(function):
        if node.__class__ is ast.Assign and node.targets[0].__class__ is ast.Name:
            values.setdefault(node.targets[0].id, []).append(node.value)
    return {name for name, all_values in values.items() if all(map(_is_one, all_values))}


def _is_one(value: Node) -> bool:
    return value.__class__ is ast.Call and call_name(value.func) == "TensorDataset"
