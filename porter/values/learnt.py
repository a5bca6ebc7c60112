"""Says whether a value depends on something that training changes: a parameter of the module, an embedding."""

from __future__ import annotations

import ast

from porter.python.index import Node, walk
from porter.python.parameters import dotted
from porter.values.value import Value
from porter.values.values import Body

_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_LEARNING = frozenset({"Embedding", "Linear", "Conv1d", "Conv2d"})  # modules with parameters
_CONSTANT = frozenset({"detach", "shape", "size", "device", "dtype"})  # no gradient goes through them
_MOST = 100  # values that are looked at


def is_learnt(value: Value, body: Body) -> bool:
    """Whether a value depends on a parameter, as far as the class shows what its attributes are."""
    known, stack = {value}, [value]
    while stack and len(known) < _MOST:
        value = stack.pop()
        if _is_constant(value):
            continue
        if value.op == "leaf" and value.info[0] == "attribute" and _is_parameter(value.info[1], body):
            return True
        if value.op == "call" and _calls_parameter(value, body):
            return True
        if value.op == "linear" or value.op == "module" and value.info[1] in _LEARNING:
            return True
        fresh = [a for a in value.args if a not in known]
        known.update(fresh)
        stack += fresh
    return False


def _calls_parameter(value: Value, body: Body) -> bool:
    """`self.bias()` of a method that reads a parameter of the module, and detaches nothing."""
    func: Node = getattr(value.node, "func", None)
    if func.__class__ is not ast.Attribute or getattr(func.value, "id", "") != "self" or body.owner is None:
        return False
    method = next((s for s in body.owner.body if getattr(s, "name", "") == func.attr), None)
    read = {n.attr for n in walk(method) if n.__class__ is ast.Attribute} if method is not None else set[str]()
    return read.isdisjoint({"detach", "no_grad"}) and any(_is_parameter(name, body) for name in sorted(read))


def _is_constant(value: Value) -> bool:
    name = value.info if value.op == "attribute" else value.info[0] if value.op == "call" else ""
    return str(name).rpartition(".")[2] in _CONSTANT


def _is_parameter(attribute: str, body: Body) -> bool:
    made = body.world.members(body.owner).get(attribute, ()) if body.owner is not None else ()
    if not made and attribute.endswith("bias_table"):
        return True  # of a base: it is learnt wherever it goes by this name
    calls = (node for node in made if node.__class__ is ast.Call)
    return any(body.world.resolve(dotted(call.func)) in _PARAMETERS for call in calls)
