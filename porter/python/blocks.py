"""Where a node stands among its siblings: asked of every node that matters, and answered without a search."""

from __future__ import annotations

import ast
from collections.abc import Callable

BODIES = ("body", "orelse", "finalbody")


def place(owner: ast.AST, child: ast.AST) -> tuple[str, int]:
    """The field of a node whose list holds another, and its place there; ("", -1) where none does."""
    known = owner.__dict__.get("_places")  # kept as long as the node: it goes with its tree
    if known is None:
        fields = owner.__dict__.items()
        lists = [(name, value) for name, value in fields if value.__class__ is list]
        known = owner._places = {one: (name, at) for name, value in lists for at, one in enumerate(value)}
    return known.get(child, ("", -1))


def within(owner: ast.AST, child: ast.AST, *fields: str) -> bool:
    """Whether one of these lists holds a node."""
    return place(owner, child)[0] in fields


def above(owner: ast.AST, child: ast.AST, finds: Callable[[ast.stmt], object], key: object) -> object:
    """What `finds` says of the first statement of which it says something, in the block of `child` and above it. Each
    block is gone over once for a `key`."""
    field, at = place(owner, child)
    if field not in BODIES:
        return None
    known = owner.__dict__.setdefault("_firsts", {})
    if (key, field) not in known:
        block = getattr(owner, field)
        known[key, field] = next(
            ((n, found) for n, one in enumerate(block) if (found := finds(one))), (len(block), None)
        )
    first, found = known[key, field]
    return found if first < at else None
