"""Finds data sets that change while loaders read them. The workers of a loader have a copy from when they started."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.rulebook.table import hint
from porter.training.loaders import readers
from porter.training.loops import LOOPS

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene

_ONLY_LOOKS = hint("only-looks")


def changes_between_batches(scene: AnyScene, link: Link, dataset: Node) -> bool:
    """Whether the body of a loop over a loader changes the data set that the loader reads. `link`: of the function that makes
    the loader."""
    above = link[1][1][0]
    if dataset.__class__ not in (ast.Name, ast.Attribute):
        return False
    uses, text = readers(scene, link), ast.unparse(dataset)
    names = {text, *(f"{ast.unparse(target)}.dataset" for target in getattr(above, "targets", ()))}
    if uses and uses[0][0].__class__ is ast.Attribute and not text.startswith("self."):
        names.discard(text)  # in another method, the name is of something else
    return any(changed_in(loop, names) for loop in _over(uses or [link]))


def changed_in(loop: Node, names: Collection[str]) -> bool:
    """Whether a loop sets a part of an object that has one of these names, or calls a method of it for nothing but its effect."""
    for node in walk(loop):
        if node.__class__ in (ast.Attribute, ast.Subscript) and node.ctx.__class__ is ast.Store:
            part = node.value
        elif node.__class__ is ast.Expr and node.value.__class__ is ast.Call:
            called = node.value.func
            acts = called.__class__ is ast.Attribute and not _ONLY_LOOKS.search(called.attr)
            part = called.value if acts else None
        else:
            continue
        while part.__class__ in (ast.Attribute, ast.Subscript):
            if ast.unparse(part) in names:
                return True
            part = part.value
        if getattr(part, "id", "") in names:
            return True
    return False


def _over(readers: Collection[Link]) -> Iterator[Node]:
    """The loops that take their items from one of these uses: `for batch in tqdm(loader)`."""
    for reader in readers:
        child = reader[0]
        for above in ancestors(reader):
            if above[0].__class__ in FUNCTIONS or above[0].__class__ in LOOPS:
                if getattr(above[0], "iter", None) is child:
                    yield above[0]
                break
            child = above[0]
