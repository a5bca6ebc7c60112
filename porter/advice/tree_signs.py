"""Signs of rules/advice that no line shows: each needs a look at what stands around it. Sign -> the lines."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from porter.regex import lazy

Node: TypeAlias = Any  # a node of ast: which kind is asked by its class
Link: TypeAlias = tuple[Node, Any]  # a node, and the link of its parent; the module's parent is None
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_TENSOR_PRODUCTS = frozenset({"matmul", "mm", "bmm", "addmm", "addmm_", "baddbmm", "linear", "einsum"})
_MODEL = lazy(r"(?i)(?:^|[._])(?:model|net|network)$")
_FLOAT16 = lazy(r"(?:^|\.)(?:float16|half)$")
_FIRST_RANK = lazy(
    r"rank(?:\(\))? == 0$|^0 == .*rank|is_(?:main|master)_process(?:\(.*\))?$|is_(?:master|main)$|rank in [\[(]"
)
_EVALUATES = lazy(r"^(?:do_)?(?:evaluate|validate|validation|eval_model|run_eval\w*|evaluation)(?:_\w+)?$")


class _Source(Protocol):
    @property
    def utf8(self) -> bytes: ...


class File(Protocol):
    @property
    def source(self) -> _Source: ...
    @property
    def buckets(self) -> Mapping[type, Iterable[Link]]: ...


def seen(file: File) -> Iterator[tuple[str, int]]:
    text = file.source.utf8
    if b".t()" in text and b"def backward" in text:
        yield from (("transposed_view", line) for line in _transposed(file))
    if b".backward(" in text:
        if b"autocast" in text or b".half()" in text:
            yield from (("unscaled", line) for line in _unscaled(file))
        if b"rank" in text or b"is_ma" in text:
            yield from (("first_rank_works", line) for line in _work_of_first_rank(file))


def _call_name(func: Node) -> str:
    name: str = func.attr if func.__class__ is ast.Attribute else getattr(func, "id", "")
    return name


def _ancestors(link: Link) -> Iterator[Link]:
    while (above := link[1]) is not None:
        yield above
        link = above


def _function(link: Link) -> Node:
    return next((above[0] for above in _ancestors(link) if above[0].__class__ in _FUNCTIONS), None)


def _transposed(file: File) -> Iterator[int]:
    """`grad.t().matmul(x)` in the backward pass of an autograd function: the view goes into the product as it is, at
    once or by the name that it is kept under."""
    factors: dict[Node, frozenset[str]] = {}
    for link in file.buckets[ast.Call]:
        node = link[0]
        if node.func.__class__ is not ast.Attribute or node.func.attr != "t" or node.args:
            continue
        function = _function(link)
        if not _is_backward(function):
            continue
        above = link[1][0]
        if above.__class__ is ast.Assign and len(above.targets) == 1 and above.targets[0].__class__ is ast.Name:
            if function not in factors:
                factors[function] = frozenset(_factors(function))
            if above.targets[0].id in factors[function]:
                yield node.lineno
        elif _is_product(above):
            yield node.lineno


def _is_product(node: Node) -> bool:
    """What multiplies its operands, or the method of it that does."""
    if node.__class__ is ast.Call:
        return getattr(node.func, "attr", "") in _TENSOR_PRODUCTS
    if node.__class__ is ast.BinOp:
        return node.op.__class__ is ast.MatMult
    return node.__class__ is ast.Attribute and node.attr in _TENSOR_PRODUCTS


def _factors(function: Node) -> Iterator[str]:
    """The names that go into products as they are."""
    node: Node
    for node in ast.walk(function):
        if _is_product(node):
            if node.__class__ is ast.Call:
                operands = node.args
            else:
                operands = [node.left, node.right] if node.__class__ is ast.BinOp else [node.value]
            yield from (operand.id for operand in operands if operand.__class__ is ast.Name)


def _is_backward(function: Node) -> bool:
    first = function.args.args[:1] if function.__class__ is ast.FunctionDef else []
    return bool(first) and function.name == "backward" and first[0].arg == "ctx"


def _unscaled(file: File) -> Iterator[int]:
    """float16 where gradients are taken: autocast in such a function, a model cast as a whole whose weights are trained."""
    trains = {_function(link) for link in file.buckets[ast.Attribute] if link[0].attr == "backward"}
    for link in file.buckets[ast.Call]:
        node = link[0]
        if _call_name(node.func) == "autocast":
            if _function(link) in trains and _is_float16(node):
                yield node.lineno
        elif _call_name(node.func) == "half" and not node.args and (name := _cast_whole(node)):
            if f"{name}.parameters(".encode() in file.source.utf8:
                yield node.lineno


def _is_float16(call: ast.Call) -> bool:
    named = {k.arg: k.value for k in call.keywords}
    if "enabled" in named or None in named:
        return False  # somebody chooses, and mostly the scaler with it
    given = named.get("dtype") or next(iter(call.args[1:2]), None)
    if given is None:
        return getattr(call.func, "attr", "") == "autocast" and "cpu" not in ast.unparse(call)  # the default there
    return bool(_FLOAT16.search(ast.unparse(given)))


def _cast_whole(call: Node) -> str:
    """`self.model` of `self.model.cuda().half()`; "" for what is called like no model."""
    node = call
    while node.__class__ is ast.Call and node.func.__class__ is ast.Attribute:
        node = node.func.value
    name = ast.unparse(node) if node.__class__ in (ast.Name, ast.Attribute) else ""
    return name if _MODEL.search(name) else ""


def _work_of_first_rank(file: File) -> Iterator[int]:
    """`if rank == 0: evaluate(model)` in a loop: the other ranks wait at their next collective."""
    calls: dict[Node, list[Node]] = defaultdict(list)
    for link in file.buckets[ast.Call]:
        if not _EVALUATES.search(_call_name(link[0].func)):
            continue
        child = link[0]
        for above in _ancestors(link):
            if above[0].__class__ in _FUNCTIONS:
                break
            if above[0].__class__ is ast.If and child in above[0].body and _asks_for_first(above[0].test):
                if any(a[0].__class__ in (ast.For, ast.While) for a in _within_function(above)):
                    calls[above[0]].append(link[0])
                break
            child = above[0]
    yield from (min(call.lineno for call in found) for found in calls.values())


def _within_function(link: Link) -> Iterator[Link]:
    for above in _ancestors(link):
        if above[0].__class__ in _FUNCTIONS:
            return
        yield above


def _asks_for_first(test: Node) -> bool:
    terms = test.values if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And else [test]
    return any(_FIRST_RANK.search(ast.unparse(term)) for term in terms)
