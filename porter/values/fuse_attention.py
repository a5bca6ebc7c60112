"""Writes attention as one call of scaled_dot_product_attention. Where any part is in doubt, it writes nothing."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from porter.python.index import Node
from porter.values.attention import is_least
from porter.values.patterns import Match
from porter.values.place import Place
from porter.values.value import Value
from porter.values.views import base

_SWAPPED = frozenset({(-2, -1), (-1, -2), (2, 3), (3, 2)})  # transposes of the last two dimensions


@dataclass(slots=True)
class _Parts:
    """softmax(query @ key.T * scale, with a mask filled in)."""

    query: Value
    key: Value
    scale: str | None = "1.0"  # None: the default of the function, 1 / sqrt(width)
    mask: Value | None = None


def attention(place: Place, match: Match) -> str | None:
    """The text of the call; None where it cannot be written."""
    product = place.root
    if product.op != "matmul" or product.info == "bmm":
        return None  # tensors with three dimensions do not reach the fused kernel
    weights, value = product.args
    softmax, dropped = _down(base(weights))
    if softmax is None or softmax.info != -1:
        return None
    parts = _scores(place, softmax.args[0])
    function = functional(place)
    if parts is None or function is None:
        return None
    names = [place.spell(v) for v in (parts.query, parts.key, value)]
    options = [_mask(place, parts.mask), _dropout(place, dropped), f"scale={parts.scale}" if parts.scale else ""]
    if None in (*names, *options):
        return None
    return f"{function}.scaled_dot_product_attention({', '.join(filter(None, (*names, *options)))})"


def _down(value: Value) -> tuple[Value | None, Value | None]:
    """(softmax, dropout) below casts and at most one dropout."""
    dropped = None
    while value.op in ("cast", "dropout"):
        if value.op == "dropout":
            if dropped is not None:
                return None, None
            dropped = value
        value = value.args[0]
    return (value, dropped) if value.op == "softmax" else (None, None)


def _scores(place: Place, value: Value) -> _Parts | None:
    """The parts of the scores; None where there is more than a product, a scale and a mask."""
    scale, mask = None, None
    while value.op != "matmul":
        if value.op == "masked_fill" and mask is None:
            if not is_least(value.args[2]):
                return None
            mask, value = value.args[1], value.args[0]
        elif value.op in ("mul", "div") and scale is None:
            inner, other = value.args if value.op == "div" or _holds(value.args[0]) else value.args[::-1]
            if not _holds(inner):
                return None
            scale, value = (value.op, other), inner
        else:
            return None
    query, key = value.args
    if key.op != "transpose" or key.info not in _SWAPPED:
        return None
    parts = _Parts(query, key.args[0], mask=mask)
    if scale is not None:
        parts.scale = _scale(place, *scale, (query, key.args[0]))
        if parts.scale == "":
            return None
    return parts


def _holds(value: Value, depth: int = 0) -> bool:
    if value.op == "mul" and depth < 6:
        return any(_holds(a, depth + 1) for a in value.args)
    if value.op in ("div", "masked_fill") and depth < 6:
        return _holds(value.args[0], depth + 1)
    return value.op == "matmul"


def _scale(place: Place, op: str, by: Value, tensors: tuple[Value, Value]) -> str | None:
    """The scale as text. None: the default; "": it may be no plain number."""
    if by.op == "rsqrt":
        if _is_width(by.args[0], tensors):
            return None
        text = _text(place, by.node)
        return f"1 / {text}" if text and (text.startswith(("math.", "np.", "numpy.")) or "** 0.5" in text) else ""
    if by.op == "const" and type(by.info) in (int, float):
        return repr(by.info) if op == "mul" else f"1 / {by.info!r}"
    world, owner = place.body.world, place.body.owner
    if by.op == "leaf" and by.info[0] == "attribute" and owner is not None:
        values = world.members(owner).get(by.info[1], ())
        if values and not any(
            v.__class__ is ast.Call and not ast.unparse(v.func).startswith(("math.", "float", "int")) for v in values
        ):
            return f"self.{by.info[1]}" if op == "mul" else f"1 / self.{by.info[1]}"
    return ""


def _is_width(value: Value, tensors: tuple[Value, Value]) -> bool:
    """Whether a value is the width of one of the tensors: `k.size(-1)`, `q.shape[-1]`."""
    dimension = value.args[-1] if value.args else None
    if dimension is None or dimension.op != "const" or dimension.info not in (-1, 3):
        return False
    tensor = value.args[0]
    if value.op == "item" and tensor.op == "attribute" and tensor.info == "shape":
        tensor = tensor.args[0]
    elif value.op != "call" or value.info[0] != "size":
        return False
    return tensor in tensors


def _mask(place: Place, mask: Value | None) -> str | None:
    """The argument for the mask. It is inverted: it is True where a score counts, not where it is left out."""
    if mask is None:
        return ""
    if mask.op == "not":
        text = place.spell(mask.args[0])
        return text and f"attn_mask={text}"
    text = place.spell(mask)
    return text and (f"attn_mask=~{text}" if text.replace(".", "").isidentifier() else f"attn_mask=~({text})")


def _dropout(place: Place, dropped: Value | None) -> str | None:
    if dropped is None:
        return ""
    name = dropped.info[0] if dropped.info.__class__ is tuple else None
    values = place.body.world.members(place.body.owner).get(name, ()) if name and place.body.owner is not None else ()
    if len(values) != 1 or values[0].__class__ is not ast.Call:
        return None
    full_name = place.body.world.resolve(ast.unparse(values[0].func))
    return f"dropout_p=self.{name}.p if self.training else 0.0" if full_name == "torch.nn.Dropout" else None


def functional(place: Place) -> str | None:
    """The text by which the file can name torch.nn.functional."""
    plain = place.body.world.names.plain
    for module, suffix in (("torch.nn.functional", ""), ("torch", ".nn.functional")):
        name = next((n for n, full in sorted(plain.items()) if full == module), None)
        if name:
            return name + suffix
    return None


def _text(place: Place, node: Node) -> str | None:
    if node not in place.body.at:
        return None
    start, end = place.source.span(node)
    return place.source.utf8[start:end].decode()
