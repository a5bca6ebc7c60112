"""Names in a function that lie on the host, by what else the function does with them.

It gives back either a parameter or what it makes on the host of it, as of a batch before it is moved; or a packed sequence
takes them as its lengths, which torch wants there.
"""

from __future__ import annotations

import ast

from porter.python.blocks import once
from porter.python.evidence import call_name
from porter.python.index import Node, walk
from porter.python.parameters import parameters
from porter.regex import lazy

_HOST = lazy(r"torch\.(?:(?:Long|Float|Int|Double|Byte|Bool|Short|Half)?Tensor|from_numpy)$")
_MOVES = frozenset({"cuda", "npu", "to", "device", "type_as"})


@once
def on_host(function: Node) -> frozenset[str]:
    return _given_back(function) | _lengths(function)


def _lengths(function: Node) -> frozenset[str]:
    """`lengths` of `pack_padded_sequence(x, sorted(lengths.tolist()))`; not those that `lengths.cpu()` brings there."""
    calls = (n for n in walk(function) if n.__class__ is ast.Call and call_name(n.func) == "pack_padded_sequence")
    given = [[*walk(call.args[1])] for call in calls if len(call.args) > 1]
    there = [nodes for nodes in given if all(getattr(node, "attr", "") != "cpu" for node in nodes)]
    return frozenset(node.id for nodes in there for node in nodes if node.__class__ is ast.Name)


def _given_back(function: Node) -> frozenset[str]:
    """`words` of a function with `return words` and `return torch.LongTensor(...)`."""
    given = [node.value for node in walk(function) if node.__class__ is ast.Return and node.value is not None]
    rows = [value.elts if value.__class__ is ast.Tuple else [value] for value in given]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        return frozenset()
    handed = parameters(function)
    found = set()
    for column in zip(*rows, strict=True):
        names = {getattr(value, "id", "") for value in column}
        own = names.intersection(handed)
        if len(own) == 1 and (made := names - own) and all(_is_made_there(function, name) for name in made):
            found |= own
    return frozenset(found)


def _is_made_there(function: Node, name: str) -> bool:
    """Whether a name is only set to what a constructor of torch for the host gives."""
    bound = [n for n in walk(function) if n.__class__ is ast.Name and n.id == name and n.ctx.__class__ is ast.Store]
    assigned = [n for n in walk(function) if n.__class__ is ast.Assign and n.targets[0] in bound]
    return bool(bound) and len(bound) == len(assigned) and all(_is_on_host(n.value) for n in assigned)


def _is_on_host(value: Node) -> bool:
    if any(getattr(node, "attr", getattr(node, "arg", "")) in _MOVES for node in walk(value)):
        return False
    while value.__class__ is ast.Call:
        if _HOST.match(ast.unparse(value.func)):
            return True
        value = value.func.value if value.func.__class__ is ast.Attribute else None
    return False
