"""`for batch in loader: batch = batch.cuda(rank)`: that the name is moved says nothing of what it holds."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.evidence import MOVES, call_name


def only_moved(call: cst.Call, file: RuleFile) -> bool:
    """Whether the name before `.cuda()`, or before the key of a part of it, gets its values from a loop or as a parameter, and else
    from its own moves alone."""
    link: Any = file.scene.link(call)
    name: Node = link[0].value if link is not None else None
    if name.__class__ is ast.Subscript:
        name = name.value
    if name.__class__ is not ast.Name:
        return False
    bindings = file.names.bindings(name.id, link)
    kinds = [_is_move(binding, name.id) for binding in bindings]
    return True in kinds and None not in kinds


def _is_move(binding: Link, name: str) -> bool | None:
    """Of what binds a name: True for `x = x.cuda()`, False for a loop or a parameter without a type, None for anything else."""
    node, above = binding[0], binding[1] and binding[1][0]
    if node.__class__ is ast.arg:
        return False if node.annotation is None else None
    if above.__class__ in (ast.For, ast.comprehension) and node is above.target:
        return False
    value: Node = above.value if above.__class__ is ast.Assign and above.targets == [node] else None
    if value.__class__ is not ast.Call or call_name(value.func) not in MOVES:
        return None
    return True if getattr(getattr(value.func, "value", None), "id", "") == name else None
