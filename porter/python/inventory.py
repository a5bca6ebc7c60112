"""Lists which APIs a file uses: names that resolve, and methods of values that are known to be tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python import not_tensors
from porter.python.assigned import values_of
from porter.python.index import Link, Node, methods
from porter.python.receivers import TORCH

if TYPE_CHECKING:
    from porter.python.file import File


_TENSOR = "torch.Tensor."
_DEEPEST = 6  # how many names are followed that are set to other names


def add_methods(file: File) -> None:
    """Puts calls of methods of tensors into `file.apis`, as torch.Tensor.X."""
    is_method, apis, known, receivers = file.session.support.is_method, file.apis, file.names.known, file.receivers
    own = frozenset[str]().union(*(methods(link[0]) for link in file.buckets[ast.ClassDef]))
    for link in file.buckets[ast.Attribute]:
        node, above = link[0], link[1][0]
        if above.__class__ is not ast.Call or above.func is not node or not is_method(node.attr):
            continue
        root = base = node.value
        while root.__class__ is ast.Attribute:
            root = root.value
        if root.__class__ is ast.Name and known(root.id):
            continue  # a function of a module
        if receivers.kind((base, link)) == TORCH and (node.attr not in own or _is_shown(file, base, link)):
            if _matters(file, _TENSOR + node.attr) and _is_no_tensor(file, base, link):
                continue
            apis.setdefault(_TENSOR + node.attr, []).append(link)


def _matters(file: File, api: str) -> bool:
    """Whether a call of this method gives a finding of more than a note."""
    verdict = file.session.support.of(api)
    return verdict is not None and verdict.severity != "note"


def _is_no_tensor(file: File, node: Node, link: Link) -> bool:
    """Whether the code around shows that a value is no tensor, and its origin does not show that it is one."""
    if link[0].attr == "mode" and _is_of_project(file, node, link) and not_tensors.answers_one(link[1]):
        return True
    if node.__class__ is not ast.Name:
        return False
    if not_tensors.is_narrowed(node.id, link):
        return True
    return not_tensors.has_other_methods(file, node.id, link) and not _is_shown(file, node, link)


def _is_of_project(file: File, node: Node, link: Link) -> bool:
    """Whether functions of the project made a value."""
    values = values_of(file.names, node, link) if node.__class__ is ast.Name else [node]
    return bool(values) and all(map(not_tensors.is_of_project, values))


def _is_shown(file: File, node: Node, link: Link, depth: int = 0) -> bool:
    """Whether it is certain that a value comes from torch, and not from a class of the file with a method of that name."""
    if node.__class__ is ast.Call:
        if full := file.names.resolve(node.func, link):
            return full.startswith("torch.")
        return node.func.__class__ is ast.Attribute and _is_shown(file, node.func.value, link, depth)
    if node.__class__ in (ast.Subscript, ast.Attribute):
        return _is_shown(file, node.value, link, depth)
    if node.__class__ is ast.BinOp:
        return _is_shown(file, node.left, link, depth) or _is_shown(file, node.right, link, depth)
    if node.__class__ is not ast.Name or node.id in ("self", "cls") or depth == _DEEPEST:
        return False  # what a method returns may be anything
    if any(at[0].__class__ is ast.arg for at in file.names.bindings(node.id, link)):
        return file.receivers.kind((node, link)) == TORCH  # its annotation says so
    values = values_of(file.names, node, link)
    return bool(values) and all(_is_shown(file, value, (value, link), depth + 1) for value in values)


def inventory(file: File) -> tuple[tuple[str, int, int], ...]:
    """(name, how often, first line) of each API, sorted by name."""
    return tuple(
        (name, len(links), min(link[0].end_lineno for link in links)) for name, links in sorted(file.apis.items())
    )


def first(links: list[Link]) -> Link:
    """The link whose node ends first in the file."""
    return min(links, key=lambda link: (link[0].end_lineno, link[0].end_col_offset))
