"""Finds calls of scaled_dot_product_attention that do not reach the fused kernel, or that get more data than they need."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.python.evidence import call_name, constant
from porter.python.index import Node
from porter.regex import lazy
from porter.values.attention import is_least
from porter.values.learnt import is_learnt
from porter.values.value import Value
from porter.values.values import Body
from porter.values.views import base

# names of biases; of functions that repeat heads
BIAS = lazy(r"(?i)(?<!use_)(?:bias|rel_?pos|relative_?pos|alibi)")
_REPEATS = lazy(r"(?i)^(?:_*(?:repeat|expand|tile)_?(?:kv|key|value|head|gqa)\w*|repeat_interleave)$")
_GROUPS = frozenset({"repeat", "expand", "expand_as", "tile"})
_LARGEST = 60  # values that are looked at


def misses(call: Value, body: Body) -> Iterator[str]:
    """The keys of the messages about one call."""
    given = {k.arg for k in call.node.keywords}
    if len(call.args) > 3 and _is_bias(call.args[3]):
        if is_learnt(call.args[3], body):  # no fused operator gives it a gradient
            return
        yield "bias"
    if "enable_gqa" not in given and len(call.args) > 2 and all(map(_is_repeated, call.args[1:3])):
        yield "repeated"


def _is_bias(value: Value, depth: int = 0) -> bool:
    """Whether a value is a bias, learnt or computed, that is added to the scores, and not only a mask."""
    value = base(value)
    if depth > 8:
        return False
    name = ""
    if value.op in ("leaf", "attribute"):
        name = value.info if value.op == "attribute" else value.info[1]
    elif value.op in ("call", "module"):
        name = str(value.info[0]).rpartition(".")[2]
    if name and BIAS.search(name):
        return not (value.op == "call" and name == "bias")
    if value.op in ("add", "cat"):
        return any(_is_bias(a, depth + 1) for a in value.args)
    if value.op == "choice":
        return any(_is_bias(a, depth + 1) for a in value.args)
    if (
        value.op == "masked_fill"
        and is_least(value.args[2])
        or value.op in ("view", "transpose", "slice", "item", "index", "mul")
    ):
        return bool(value.args) and _is_bias(value.args[0], depth + 1)
    return False


def _is_repeated(value: Value) -> bool:
    """Whether heads of keys or values were copied for their groups of queries: by `repeat_interleave`, or by a new dimension
    that is expanded."""
    stack = [base(value)]
    known: set[Value] = set()
    while stack and len(known) < _LARGEST:
        value = stack.pop()
        if value in known:
            continue
        known.add(value)
        name = call_name(value.node.func) if value.node.__class__ is ast.Call else ""
        if value.op in ("call", "view") and (_REPEATS.search(name) or name == "repeat" and _repeats_heads(value.node)):
            return True
        if value.op == "view" and name in ("reshape", "view", "flatten") and _is_put_in(base(value.args[0])):
            return True
        if value.op in ("view", "transpose", "choice", "cast"):
            stack += map(base, value.args if value.op == "choice" else value.args[:1])
    return False


def _repeats_heads(call: ast.Call) -> bool:
    """Whether a call of einops repeats heads: `repeat(k, "b h n d -> b (h r) n d", r=4)`."""
    after = next((t.partition("->")[2] for t in map(constant, call.args) if isinstance(t, str)), "")
    return "(" in after.strip().partition(" ")[2] and not after.strip().startswith("(")


def _is_put_in(value: Value) -> bool:
    """Whether a new dimension is expanded: `x[:, :, None].expand(...)`, `x.unsqueeze(2).repeat(...)`."""
    name = call_name(value.node.func) if value.node.__class__ is ast.Call else ""
    if value.op not in ("view", "call") or name not in _GROUPS or not value.args:
        return False
    inner = base(value.args[0])
    if inner.op != "view":
        return False
    node: Node = inner.node
    return (
        node.__class__ is ast.Subscript or call_name(node.func if node.__class__ is ast.Call else node) == "unsqueeze"
    )
