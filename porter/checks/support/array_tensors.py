"""Tensors that are made of arrays: `torch.linalg.eig(torch.tensor(matrix))` below `matrix = matrix.cpu().numpy()`. The CPU has them."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.python.blocks import BODIES, place
from porter.python.evidence import call_name
from porter.python.index import Node, ancestors, chain_of, walk

_MAKES = frozenset({"torch.tensor", "torch.as_tensor", "torch.Tensor", "torch.FloatTensor"})


def is_of_array(file: RuleFile, link: Link) -> bool:
    """Whether a call of torch computes with a tensor that is made of an array and moved nowhere. `link`: of what is called."""
    link = chain_of(link)
    call = link[1][0]
    made: Node = call.args[0] if call.__class__ is ast.Call and call.func is link[0] and call.args else None
    if made.__class__ is not ast.Call or (file.names.resolve(made.func, link) or "") not in _MAKES or not made.args:
        return False
    given = made.args[0]
    if any(k.arg in ("device", None) for k in made.keywords) or given.__class__ is not ast.Name:
        return False
    return _is_array(given.id, link)


def _is_array(name: str, link: Link) -> bool:
    """Whether the last statement above that sets a name, in the blocks around, sets it to `x.numpy()`."""
    child = link[0]
    for above in ancestors(link):
        if isinstance(child, ast.stmt):
            field, index = place(above[0], child)
            before = getattr(above[0], field)[:index] if field in BODIES else []
            for statement in reversed(before):
                if any(
                    n.__class__ is ast.Name and n.id == name and n.ctx.__class__ is ast.Store for n in walk(statement)
                ):
                    value: Node = getattr(statement, "value", None)
                    return value.__class__ is ast.Call and call_name(value.func) == "numpy"
        child = above[0]
    return False
