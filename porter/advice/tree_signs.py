"""Signs of rules/advice that no line shows: each needs a look at what stands around it. Sign -> the lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.advice import first_rank
from porter.advice.trees import File, Link, Node, call_name, function_of, walk
from porter.regex import lazy

_TENSOR_PRODUCTS = frozenset({"matmul", "mm", "bmm", "addmm", "addmm_", "baddbmm", "linear", "einsum"})
_JOINS = frozenset({"_flatten_dense_tensors", "cat", "parameters_to_vector"})
_VIEWS = lazy(rb"\.(?:t\(\)|m?T\b|transpose\()")
_MODEL = lazy(r"(?i)(?:^|[._])(?:model|net|network)$")
_FLOAT16 = lazy(r"(?:^|\.)(?:float16|half)$")


def seen(file: File) -> Iterator[tuple[str, int]]:
    text = file.source.utf8
    if b"def backward" in text and _VIEWS.search(text):
        yield from (("transposed_view", line) for line in _transposed(file))
    if b".backward(" in text and (b"autocast" in text or b".half()" in text):
        yield from (("unscaled", line) for line in _unscaled(file))
    if b"rank" in text or b"is_ma" in text:
        yield from first_rank.seen(file)
    if b"all_reduce" in text and b".grad" in text:
        yield from (("joined_gradients", line) for line in _joined(file))
    if b".round(" in text and b".detach()" in text:
        yield from (("rounds_through", line) for line in _rounded_through(file))
    if b"PrecisionDebugger" in text:
        yield from (("debugger_stays", line) for line in _staying(file))


def _transposed(file: File) -> Iterator[int]:
    """`grad.t().matmul(x)` in the backward pass of an autograd function: the view goes into the product as it is, at
    once or by the name that it is kept under."""
    factors: dict[Node, frozenset[str]] = {}
    views = [link for link in file.buckets[ast.Attribute] if link[0].attr in ("T", "mT")]
    for link in (*views, *(link for link in file.buckets[ast.Call] if call_name(link[0].func) in ("t", "transpose"))):
        node = link[0]
        function = function_of(link)
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
    for node in walk(function):
        if _is_product(node):
            if node.__class__ is ast.Call:
                operands = node.args
            else:
                operands = [node.left, node.right] if node.__class__ is ast.BinOp else [node.value]
            yield from (operand.id for operand in operands if operand.__class__ is ast.Name)


def _is_backward(function: Node) -> bool:
    first = function.args.args[:1] if function.__class__ is ast.FunctionDef else []
    return bool(first) and function.name == "backward" and first[0].arg == "ctx"


def _joined(file: File) -> Iterator[int]:
    """`flat = _flatten_dense_tensors(grads)`, `dist.all_reduce(flat)`: all gradients in one message."""
    for link in file.buckets[ast.Call]:
        call, function = link[0], function_of(link)
        if call_name(call.func) == "all_reduce" and function is not None and call.args and not call.args[1:]:
            names = {getattr(call.args[0], "id", "")}
            values = _set_to(names, function)
            joined = [v for v in values if v.__class__ is ast.Call and call_name(v.func) in _JOINS and v.args]
            for value in joined:
                inner = {n.id for n in walk(value.args[0]) if n.__class__ is ast.Name}
                if any(".grad" in ast.unparse(part) for part in (value.args[0], *_set_to(inner, function))):
                    yield call.lineno


def _set_to(names: set[str], function: Node) -> list[Node]:
    nodes = (n for n in walk(function) if n.__class__ is ast.Assign)
    return [node.value for node in nodes if getattr(node.targets[0], "id", None) in names]


def _rounded_through(file: File) -> Iterator[int]:
    """`y = x.round()` in a function with `x + (y - x).detach()`: the gradient goes past the rounding."""
    through = {function_of(link) for link in file.buckets[ast.Call] if _is_past(link)} - {None}
    for link in file.buckets[ast.Call] if through else ():
        func, args = link[0].func, link[0].args
        if call_name(func) == "round" and func.__class__ is ast.Attribute and function_of(link) in through:
            if len(args) == (1 if getattr(func.value, "id", "") == "torch" else 0):
                yield link[0].lineno


def _is_past(link: Link) -> bool:
    func, above = link[0].func, link[1][0]
    return (
        func.__class__ is ast.Attribute
        and func.attr == "detach"
        and func.value.__class__ is ast.BinOp
        and func.value.op.__class__ is ast.Sub
        and above.__class__ is ast.BinOp
        and above.op.__class__ is ast.Add
    )


def _staying(file: File) -> Iterator[int]:
    """Where a debugger of msProbe is started that never hears of the end of a step."""
    made = {
        link[1][0].targets[0].id
        for link in file.buckets[ast.Call]
        if call_name(link[0].func) == "PrecisionDebugger"
        and link[1][0].__class__ is ast.Assign
        and link[1][0].targets[0].__class__ is ast.Name
    }
    calls: dict[str, list[int]] = {"start": [], "step": []}
    for link in file.buckets[ast.Call] if made else ():
        func = link[0].func
        if func.__class__ is ast.Attribute and func.attr in calls and getattr(func.value, "id", "") in made:
            calls[func.attr].append(link[0].lineno)
    if not calls["step"]:
        yield from calls["start"]


def _unscaled(file: File) -> Iterator[int]:
    """float16 where gradients are taken: autocast in such a function, a model cast as a whole whose weights are trained."""
    trains = {function_of(link) for link in file.buckets[ast.Attribute] if link[0].attr == "backward"}
    for link in file.buckets[ast.Call]:
        node = link[0]
        if call_name(node.func) == "autocast":
            if function_of(link) in trains and _is_float16(node):
                yield node.lineno
        elif call_name(node.func) == "half" and not node.args and (name := _cast_whole(node)):
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
