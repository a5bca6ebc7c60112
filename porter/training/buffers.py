"""Finds buffers: state of a module that is on the device like its weights: `self.register_buffer("steps", ...)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, walk

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext


@once
def registered(owner: ast.ClassDef) -> frozenset[str]:
    """The names of the buffers that a class registers itself."""
    calls = (n for n in walk(owner) if n.__class__ is ast.Call and call_name(n.func) == "register_buffer")
    named = (next(iter([*c.args[:1], *(k.value for k in c.keywords if k.arg == "name")]), None) for c in calls)
    return frozenset(str(name) for node in named if (name := constant(node)) is not None)


def is_buffer(scene: AnyContext, node: Node, link: Link) -> bool:
    """Whether a node is a buffer: `self.steps` in a class that registers it."""
    owner = scene.owner(link)
    return (
        owner is not None
        and node.__class__ is ast.Attribute
        and getattr(node.value, "id", "") == "self"
        and node.attr in registered(owner)
    )
