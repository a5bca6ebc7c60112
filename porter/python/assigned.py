"""What a name is set to."""

from __future__ import annotations

import ast

from porter.python.blocks import within
from porter.python.index import Link
from porter.python.names import Names


def values_of(names: Names, name: ast.Name, link: Link) -> list[ast.expr]:
    """In the scope that binds it; empty where something else than plain assignments binds it."""
    bindings = names.bindings(name.id, link)
    return names.once("values", bindings, lambda: _values(bindings))


def _values(bindings: list[Link]) -> list[ast.expr]:
    values = []
    for binding in bindings:
        above = binding[1] and binding[1][0]
        if above.__class__ is not ast.Assign or not within(above, binding[0], "targets"):
            return []
        values.append(above.value)
    return values
