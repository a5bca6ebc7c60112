"""Reads calls of functions of torch that are one operation each. values/operations.py hands every call over that it does not read
itself: it has put other names and the object of a method right before.

A new operation is also named in values/dtypes.py, training/placement.py and training/same_shape.py, where its type, its device or its
shape matters. Patterns are code: values/patterns.py. With `id(node)` in `info`, two calls are never one value: not all of their
arguments are kept, or the result is random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from porter.python.index import Node
from porter.values.value import Value
from porter.values.values import Body


class Call(NamedTuple):
    """A call with its arguments as values."""

    name: str  # without aliases: mul for multiply
    spelt: str  # as the code has it
    args: list[Value]
    keywords: dict[str, Value]
    node: Node

    def get(self, position: int, *names: str) -> Value | None:
        keyword = next((self.keywords[n] for n in names if n in self.keywords), None)
        return keyword if keyword is not None else self.args[position] if position < len(self.args) else None

    def plain(self, position: int, default: Any, *names: str) -> Any:
        argument = self.get(position, *names)
        return default if argument is None else _plain(argument)


def named(body: Body, call: Call) -> Value | None:
    """The value of a call of such a function; None for other functions."""
    name, _, args, keywords, node = call
    first, make, get, plain = args[0], body.make, call.get, call.plain
    if name == "gelu":
        return make("gelu", (first,), plain(1, "none", "approximate"), node)
    if name == "softmax":
        return make("softmax", (first,), plain(1, None, "dim", "axis"), node)
    if name in ("mean", "norm"):
        position = 2 if name == "norm" else 1
        dims, keep = plain(position, None, "dim", "axis"), plain(position + 1, False, "keepdim")
        return make(name, (first,), (dims if type(dims) is tuple else (dims,), keep), node)
    if name == "normalize":
        return make("normalize", (first,), plain(2, 1, "dim"), node)
    if name == "chunk":
        # how many parts, 0 for unknown; `sections` is the word of tensor_split
        return make("parts", (first,), (plain(1, None, "chunks", "sections") or 0, plain(2, 0, "dim")), node)
    if name == "split":
        sizes, dim = get(1, "split_size", "split_size_or_sections"), plain(2, 0, "dim")
        uneven = sizes is not None and sizes.op == "tuple" and len({*sizes.args}) != 1
        return sized(body, "parts", first, (0 if uneven else None, dim), [sizes] if sizes else [], node)
    if name == "unbind":
        return make("unbound", (first,), plain(1, 0, "dim"), node)
    if name in ("cat", "stack") and first.op == "tuple":
        return make(name, first.args, plain(1, 0, "dim", "axis"), node)
    if name == "einsum" and first.op == "const":
        return make("einsum", tuple(args[1:]), first.info, node)
    if name == "masked_fill":
        mask, filled = get(1, "mask"), get(2, "value")
        return (
            make("masked_fill", (first, mask, filled), None, node) if mask is not None and filled is not None else None
        )
    if name == "scaled_dot_product_attention":
        given = [get(position, word) for position, word in enumerate(("query", "key", "value", "attn_mask"))]
        return make("sdpa", tuple(v for v in given if v is not None), id(node), node)
    if name in ("where", "baddbmm", "addcmul") and len(args) == 3:
        return make(name, tuple(args), None, node)
    if name == "dropout":
        return make("dropout", (first, *args[1:], *keywords.values()), id(node), node)
    if name in ("layer_norm", "group_norm", "rms_norm"):
        return make(name, (first,), id(node), node)
    return None


def _plain(value: Value) -> Any:
    """A constant, or a tuple of constants; else the value itself, which is equal to no constant."""
    if value.op == "const":
        return value.info
    if value.op == "tuple" and all(v.op == "const" for v in value.args):
        return tuple(v.info for v in value.args)
    return value


def sized(body: Body, op: str, value: Value, info: Any, sizes: list[Value], node: Node) -> Value:
    """A view or a split of a value. `sizes`: the arguments that give its sizes."""
    result = body.make(op, (value,), info, node)
    if sizes and body.world.traces:
        body.traces.sizes[result] = sizes
    return result
