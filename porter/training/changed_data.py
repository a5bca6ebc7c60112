"""Finds data sets that change while loaders read them. The workers of a loader have a copy from when they started."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.rulebook.table import hint
from porter.training.loops import LOOPS

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene

_ONLY_LOOKS = hint("only-looks")


def changes_between_batches(scene: AnyScene, link: Link, dataset: Node) -> bool:
    """Whether the body of a loop over a loader changes the data set that the loader reads. `link`: of the function that makes
    the loader."""
    above = link[1][1]
    if dataset.__class__ not in (ast.Name, ast.Attribute):
        return False
    target: Node = above[0].targets[0] if above[0].__class__ is ast.Assign and len(above[0].targets) == 1 else None
    text = ast.unparse(dataset)
    if target.__class__ is ast.Name:
        names = {text, f"{target.id}.dataset"}
        return any(changed_in(loop, names) for loop in _over(scene.names.readers(target.id, (target, above))))
    if target.__class__ is ast.Attribute and getattr(target.value, "id", "") == "self":
        owner, loader = scene.owner(link), ast.unparse(target)
        names = {f"{loader}.dataset", *((text,) if text.startswith("self.") else ())}  # a name is another one elsewhere
        uses = [use for use in scene.file.buckets[ast.Attribute] if use[0].attr == target.attr]
        readers = [use for use in uses if ast.unparse(use[0]) == loader and scene.owner(use) is owner]
        return any(changed_in(loop, names) for loop in _over(readers))
    return any(changed_in(loop, {text}) for loop in _over([link]))


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
