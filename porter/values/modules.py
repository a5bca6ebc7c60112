"""Gives the result of calling a module, by the call that made the module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.python.evidence import constant
from porter.python.index import Node
from porter.python.parameters import default_of, dotted, number
from porter.values.value import Value
from porter.values.values import Body

if TYPE_CHECKING:
    from porter.values.world import Operations

_MODULES = {
    "SiLU": "silu", "GELU": "gelu", "Sigmoid": "sigmoid", "Softmax": "softmax", "Dropout": "dropout", "Linear": "linear",
    "LayerNorm": "layer_norm", "GroupNorm": "group_norm", "RMSNorm": "rms_norm",
}  # fmt: skip
_NAMED = {"silu": "silu", "swish": "silu", "gelu": "gelu"}  # words with which code chooses an activation


def called(
    world: Operations[Body], body: Body, constructor: ast.Call, args: list[Value], node: Node, name: str = ""
) -> Value | None:
    """The result of calling a module that `constructor` makes; `name` is its attribute."""
    constructor, kind = _inner(world, constructor)
    full = world.resolve(kind) or kind
    layer = full.rpartition(".")[2]
    op = _MODULES.get(layer) if full.startswith("torch.nn.") else "dropout" if "drop" in layer.lower() else None
    if not args:
        return None
    given = {k.arg: number(k.value) for k in constructor.keywords}
    if op is None and "activation" in layer.lower() and constructor.args:
        op = _NAMED.get(str(_word(body, constructor.args[0])).lower())
    needed = ("elementwise_affine", "affine", "bias") if op != "linear" else ()
    if op is None or any(given.get(name) is False for name in needed):
        return body.make("module", tuple(args), (name, layer, id(node)), node)
    if op == "softmax":
        return body.make(
            op, (args[0],), given.get("dim", number(constructor.args[0]) if constructor.args else None), node
        )
    if op == "gelu":
        return body.make(op, (args[0],), given.get("approximate", "none"), node)
    if op in ("silu", "sigmoid"):
        return body.make(op, (args[0],), None, node)
    return body.make(op, tuple(args), name if op != "dropout" else (name, id(node)), node)


def _inner(world: Operations[Body], constructor: ast.Call) -> tuple[ast.Call, str]:
    """The call that makes the module, and its name. A function of the file may return it: `Normalize(channels)`."""
    kind = dotted(constructor.func)
    function = world.functions.get((None, kind))
    last_statement: Node = function.body[-1] if function is not None else None
    if last_statement.__class__ is ast.Return and last_statement.value.__class__ is ast.Call:
        return last_statement.value, dotted(last_statement.value.func)
    return constructor, kind


def _word(body: Body, node: Node) -> Any:
    """The string of an argument; for a parameter of `__init__`, its default."""
    if node.__class__ is ast.Name and body.owner is not None:
        for method in body.owner.body:
            if getattr(method, "name", "") == "__init__":
                return default_of(method, node.id)
    return constant(node)
