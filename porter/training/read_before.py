"""Finds values that a file has copied to the host before: names that are set to `x.cpu()`, and lists of such tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import Link, Node
from porter.python.waits import COPIES
from porter.training.made_there import is_made_there

if TYPE_CHECKING:
    from porter.python.file import File
    from porter.training.protocols import AnyContext

_JOINS = frozenset({"torch.cat", "torch.concat", "torch.stack", "torch.vstack", "torch.hstack"})


def was_read_back(scene: AnyContext, node: Node, link: Link) -> bool:
    """Whether an expression copies a tensor to the host, is a name that has nothing but such copies, or was made there. `link`: of
    what has it."""
    if reads_back(node):
        return True
    values = values_of(scene.names, node, link) if node.__class__ is ast.Name else []
    if values and all(reads_back(v) or _joins(scene, v, link) for v in values):
        return True
    return is_made_there(scene, node, link)


def reads_back(node: Node) -> bool:
    """Whether an expression copies a tensor to the host: `x.cpu()`."""
    return node.__class__ is ast.Call and call_name(node.func) in COPIES


def _joins(scene: AnyContext, node: Node, link: Link) -> bool:
    """Whether an expression joins a list that gets nothing but such copies: `torch.cat(self.scores)`."""
    if node.__class__ is not ast.Call or not node.args or scene.names.resolve(node.func, link) not in _JOINS:
        return False
    return _name(node.args[0]) in _collected(scene.file)


@once_for_file
def _collected(file: File) -> frozenset[str]:
    """The names of lists and attributes that are set to an empty list, and get nothing but copies on the host."""
    given: dict[str, list[bool]] = {}
    for link in file.buckets[ast.Call]:
        func = link[0].func
        if func.__class__ is ast.Attribute and func.attr in ("append", "extend", "insert"):
            is_copy = func.attr == "append" and all(_is_copy(file, value, link) for value in link[0].args)
            given.setdefault(_name(func.value), []).append(is_copy)
    names = {name for name, copies in given.items() if name and all(copies)}
    attributes: dict[str, list[Link]] = {}
    for link in file.buckets[ast.Attribute] if names else ():
        attributes.setdefault(_name(link[0]), []).append(link)
    return frozenset(name for name in names if _are_begun_empty((*file.names.spelled(name), *attributes.get(name, ()))))


def _is_copy(file: File, node: Node, link: Link) -> bool:
    if node.__class__ is ast.Name:
        values = values_of(file.names, node, link)
        return bool(values) and all(map(reads_back, values))
    return reads_back(node)


def _are_begun_empty(uses: Iterable[Link]) -> bool:
    """Whether all uses of a name that set it set it to an empty list."""
    above = [use[1] and use[1][0] for use in uses if use[0].ctx.__class__ is ast.Store]
    return bool(above) and all(a.__class__ in (ast.Assign, ast.AnnAssign) and _is_empty(a.value) for a in above)


def _is_empty(value: Node) -> bool:
    return value.__class__ is ast.List and not value.elts


def _name(node: Node) -> str:
    """A name; of an attribute, its last word behind a dot."""
    return f".{node.attr}" if node.__class__ is ast.Attribute else getattr(node, "id", "")
