"""What a plain function answers."""

from __future__ import annotations

import ast

from porter.python.index import FUNCTIONS, Link, walk


def returned(function: Link) -> list[Link]:
    """What stands in its returns; nothing where it has others inside, or gives an iterator."""
    inside = [node for statement in function[0].body for node in walk(statement)]
    if any(isinstance(node, (*FUNCTIONS, ast.Yield, ast.YieldFrom)) for node in inside):
        return []
    return [(node.value, (node, function)) for node in inside if node.__class__ is ast.Return]
