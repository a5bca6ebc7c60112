"""Finds computations for which the target has one operator, by how values are computed from each other, whatever their names.

Only functions with one of the words below are read (values/values.py), and functions that call them.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from porter.python.evidence import call_name
from porter.python.index import Link, Node, on_lines, owner_of
from porter.python.searches import Sought, lines_with
from porter.regex import lazy
from porter.values import attention, gelu, masked_softmax, rotary, sdpa
from porter.values.operations import World
from porter.values.value import Value
from porter.values.values import Body
from porter.values.views import Users, base, factors, halves, is_weight

if TYPE_CHECKING:
    from porter.engine.session import Session
    from porter.python.names import Names
    from porter.python.receivers import Receivers
    from porter.python.source import Source

# names of values that are the same for every sample
_SPREAD = lazy(r"(?i)emb|pos(?!t)|bias|type")
_LONGEST = 2_000  # lines of a function that a person wrote
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
# each begins with plain letters, as such a search takes a tenth of the time; a further word takes time in every file
_WORDS = tuple(
    Sought(word)
    for word in (
        *(
            r"oftmax\(",
            r"sqrt\(",
            r"swish\(",
            r"igmoid\(",
            r"erf\(",
            r"044715",
            r"pow\(-",
            r"\*\* ?-",
            r"\.neg\(\)",
        ),
        *(r"lu\((?<=silu\(|gelu\()", r"_norm\((?<=layer_norm\(|group_norm\()"),
        *(r"as_complex\(", r"product_attention\(", r"cat(?:enate)?\(\s*[\[(]\s*(?:-|\w+ ?\* ?\w+ ?-)"),
        *(r"stack\(\s*[\[(]\s*(?:-|\w+ ?\* ?\w+ ?-)", r"sin\b(?: ?[*)]|(?<=\* sin)|(?<=\*sin))"),
    )
)
# an `__init__` makes these modules, but calls none of them: its values are read only if another of the words is in it
_MODULES = (Sought(r"LU\((?<=SiLU\(|GELU\()"), Sought(r"Norm\((?<=LayerNorm\(|GroupNorm\()"))
_COPIES = Sought(r"\.(?:expand|repeat)\(|repeat_interleave\(")  # copies of attention heads


class _Scene(Protocol):
    def function_name(self, link: Link) -> str: ...
    def owner(self, link: Link) -> ast.ClassDef | None: ...


class File(Protocol):
    """The part of a file that this module needs."""

    buckets: dict[type, list[Link]]
    session: Session

    @property
    def source(self) -> Source: ...
    @property
    def names(self) -> Names: ...
    @property
    def receivers(self) -> Receivers: ...
    @property
    def scene(self) -> _Scene: ...


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A computation that was found."""

    kind: str  # the pattern: rules ask for it
    why: str  # key of the message
    anchor: ast.Call  # the expression at which the finding stands
    body: Body | None  # the function with the values; None where no values were computed
    root: Value | None = None  # the value that one operator would compute
    parts: dict[str, Value] = field(default_factory=dict)


def find(file: File) -> dict[tuple[int, int], list[Match]]:
    """All matches of a file, by the place of their anchor. Of several matches, the one with most parts comes first."""
    data = file.source.utf8
    if b"torch" not in data:
        return {}
    word_lines = lines_with(file.source, *_WORDS, *((_COPIES,) if b"product_attention(" in data else ()))
    module_lines = lines_with(file.source, *_MODULES)
    functions = _functions(file, sorted({*word_lines, *module_lines}))
    if not functions:
        return {}
    world = World(file.names, file.receivers.members, functions, file.session.fuse)
    by_anchor: dict[ast.AST, list[Match]] = {}
    for function, owner in functions.items():
        if function.end_lineno - function.lineno > _LONGEST:
            continue
        if function.name == "__init__" and on_lines(function, module_lines) and not on_lines(function, word_lines):
            continue
        try:
            for match in matches(Body(function, owner, world)):
                by_anchor.setdefault(match.anchor, []).append(match)
        except RecursionError:  # an expression of hundreds of parts
            continue
    span = file.source.span
    return {
        span(anchor): sorted(several, key=lambda m: (m.root is None, -len(m.parts)))
        for anchor, several in by_anchor.items()
        if anchor.__class__ is ast.Call
    }


def _functions(file: File, lines: list[int]) -> dict[Node, ast.ClassDef | None]:
    """The functions on these lines and functions that call them, with the class of a method, in the order of the file."""
    if not lines:
        return {}
    links = sorted((link for kind in _DEFS for link in file.buckets[kind]), key=lambda link: link[0].lineno)
    starts = [link[0].lineno for link in links]
    chosen: dict[Node, Link] = {}
    for line in lines:
        index = bisect_right(starts, line) - 1
        while index >= 0 and links[index][0].end_lineno < line:
            index -= 1
        if index >= 0:
            chosen[links[index][0]] = links[index]
    owners = {owner_of(link) for link in chosen.values() if link[0].name == "__init__"} - {None}
    names = {function.name for function in chosen} - {"__init__", "forward"}
    for link in links:
        if link[0] not in chosen and link[0].name == "forward" and owner_of(link) in owners:
            chosen[link[0]] = link  # it calls activations that __init__ makes
    if names:
        lines = sorted({c[0].lineno for c in file.buckets[ast.Call] if call_name(c[0].func) in names})
        for link in links:
            if link[0] not in chosen and on_lines(link[0], lines):
                chosen[link[0]] = link
    return {link[0]: owner_of(link) for link in links if link[0] in chosen}


def matches(body: Body) -> Iterator[Match]:
    """All matches in one function."""
    users = Users(body)
    for value in body.made:
        if value.op == "rsqrt":
            yield from _rms_norm(body, value)
        elif value.op in ("silu", "gelu"):
            yield from _gate(body, value, users)
        elif value.op == "softmax":
            whole = False
            for why, root, parts in attention.find(value, users):
                whole = True
                yield Match("attention", why, value.node, body, root, parts)
            for parts in () if whole else masked_softmax.find(body, value, users):
                yield Match("masked-softmax", "filled", value.node, body, None, parts)
        elif value.op in ("layer_norm", "group_norm"):
            yield from _norm(body, value, users)
        elif value.op == "sdpa":
            for why in sdpa.misses(value, body):
                yield Match("sdpa", why, value.node, body)
        elif value.op in gelu.KINDS:
            for why, root, x in gelu.find(value, users):
                yield Match("gelu", why, value.node, body, root, {"x": x})
    messages: set[str] = set()
    for why, anchor, root, parts in rotary.find(body, users):
        if why == "complex":  # queries, keys and rotations: only the first gets the message
            yield Match("complex-rotation", "again" if why in messages else why, anchor, body)
        elif root is not None or why not in messages:
            yield Match("rotary", why, anchor, body, root, parts)
        messages.add(why)


def _rms_norm(body: Body, value: Value) -> Iterator[Match]:
    """x * rsqrt(mean(x * x) + eps) * weight, in any order, with casts in between."""
    under, eps = base(value.args[0]), None
    if under.op == "add":
        mean, eps = under.args if base(under.args[0]).op == "mean" else under.args[::-1]
        under = base(mean)
    if under.op != "mean" or not _is_last(under.info[0], body) or base(under.args[0]).op != "square":
        return
    x = base(base(under.args[0]).args[0])
    if eps is not None and base(eps).op not in ("const", "leaf", "attribute", "choice", "item"):
        return  # eps may be learnt, and the operator takes a number
    if x.op == "sub" and any(base(a).op == "mean" for a in x.args):
        return  # the mean is subtracted: LayerNorm
    root, weight = None, None
    for candidate in body.made:
        if candidate.op not in ("mul", "div"):
            continue
        parts = factors(candidate)
        if value not in parts or x not in parts:
            continue
        others = list(parts)
        others.remove(value)
        others.remove(x)
        if not others and weight is None:
            root = candidate
        elif len(others) == 1 and is_weight(others[0]):
            root, weight = candidate, others[0]
    if root is None:
        return
    operands = {
        "x": x,
        **({"eps": eps} if eps is not None else {}),
        **({"weight": weight} if weight is not None else {}),
    }
    anchor = value.node if value.node.__class__ is ast.Call else under.node
    yield Match("rms-norm", "written-out", anchor, body, root, operands)


def _is_last(dims: tuple[Any, ...], body: Body) -> bool:
    if len(dims) == 1 and isinstance(dims[0], Value) and dims[0].op == "leaf" and dims[0].info[0] == "attribute":
        return bool(body.world.settled(body.owner, dims[0].info[1]) == -1)
    return dims == (-1,)


def _gate(body: Body, value: Value, users: Users) -> Iterator[Match]:
    """silu(a) * b, where a and b are halves of one tensor, or two linear layers with the same input."""
    a = base(value.args[0])
    for product in users.through_casts(value):
        if product.op != "mul":
            continue
        sides = [base(s) for s in product.args]
        b = sides[1] if sides[0] is value else sides[0]
        if both_halves := halves(a, b):
            x, left, mode = both_halves
            if mode == "half":
                parts = {"x": x, "activated": body.make("const", (), left)}
                yield Match("gate", value.op, value.node, body, product, parts)
        elif _is_linear(a) and _is_linear(b) and a is not b and a.args[0] is b.args[0]:
            yield Match("gate", f"{value.op}-apart", value.node, body, None, {"gate": a, "up": b})


def _is_linear(value: Value) -> bool:
    return value.op == "linear" or value.op == "module" and "Linear" in value.info[1]


def _is_spread(value: Value, depth: int = 0) -> bool:
    """Whether a value is a number, or the same for every sample, as tables of positions are."""
    value = base(value)
    if value.op == "add":
        return depth < 6 and any(_is_spread(a, depth + 1) for a in value.args)
    words = value.info if value.op in ("leaf", "call", "module", "attribute") else ""
    return value.op == "const" or bool(_SPREAD.search(str(words[0] if value.op in ("call", "module") else words)))


def _norm(body: Body, value: Value, users: Users) -> Iterator[Match]:
    """A layer norm of a sum, or a group norm before an activation."""
    x = base(value.args[0])
    if value.op == "layer_norm" and x.op == "add" and not any(map(_is_spread, x.args)) and _has_weights(value.node):
        yield Match("norm", "add-layer-norm", value.node, body, value, {})
    if value.op == "group_norm":
        for user in users.through_casts(value):
            if user.op == "silu":
                yield Match("norm", "group-norm-silu", value.node, body, user, {"x": value.args[0]})


def _has_weights(norm: Node) -> bool:
    """Whether a norm has weight and bias, which the operator needs. `F.layer_norm(x, shape)` has none."""
    given = {k.arg for k in norm.keywords}
    is_function = len(norm.args) > 1 or "normalized_shape" in given
    return not is_function or len(norm.args) > 3 or "bias" in given
