"""Which APIs a file uses: names that resolve, and methods of what is known to be a tensor."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.index import Link
from porter.python.receivers import TORCH

if TYPE_CHECKING:
    from porter.python.file import File


_TENSOR = "torch.Tensor."


def add_methods(file: File) -> None:
    """Put the methods of tensors into `file.apis`, as torch.Tensor.X."""
    is_method, apis, known, receivers = file.session.support.is_method, file.apis, file.names.known, file.receivers
    for link in file.buckets[ast.Attribute]:
        node, above = link[0], link[1][0]
        if above.__class__ is not ast.Call or above.func is not node or not is_method(node.attr):
            continue
        root = base = node.value
        while root.__class__ is ast.Attribute:
            root = root.value
        if root.__class__ is ast.Name and known(root.id):
            continue  # a function of a module
        if receivers.kind((base, link)) == TORCH:
            apis.setdefault(_TENSOR + node.attr, []).append(link)


def inventory(file: File) -> tuple[tuple[str, int, int], ...]:
    """Name, how often, and the first line; sorted by name."""
    return tuple(
        (name, len(links), min(link[0].end_lineno for link in links)) for name, links in sorted(file.apis.items())
    )


def first(links: list[Link]) -> Link:
    return min(links, key=lambda link: (link[0].end_lineno, link[0].end_col_offset))
