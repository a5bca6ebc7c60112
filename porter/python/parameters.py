"""Reads the parameters of functions, their defaults, and the values that a call gives them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

from porter.python.blocks import place
from porter.python.evidence import call_name, constant
from porter.python.index import Node
from porter.python.walks import walk

_Value = TypeVar("_Value")


def parameters(function: Node) -> list[str]:
    """The names of all parameters, with those of `*args` and `**kwargs`."""
    a = function.args
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p is not None]


def positional(a: ast.arguments, index: int) -> ast.arg | None:
    """The parameter at a position. A negative position counts from the last."""
    every = [*a.posonlyargs, *a.args]
    return every[index] if -len(every) <= index < len(every) else None


def behind(func: Node) -> tuple[Node, int]:
    """The function that a call is of in the end, and how many arguments it has before those: `build` for `prepare(build)("cuda")` and
    `partial(build, 3)("cuda")`. What is made of a function alone takes its parameters."""
    args = func.args if func.__class__ is ast.Call else []
    if args and args[0].__class__ is ast.Name and (len(args) == 1 or call_name(func.func) == "partial"):
        return args[0], len(args) - 1
    return func, 0


def is_static(method: Node) -> bool:
    """Whether a method has the decorator staticmethod: a call gives its first parameter."""
    return any(getattr(mark, "id", "") == "staticmethod" for mark in method.decorator_list)


def defaulted(a: ast.arguments, default: ast.expr) -> ast.arg:
    """The parameter that a default is for."""
    field, index = place(a, default)
    if field != "defaults":
        return a.kwonlyargs[index]
    return (a.posonlyargs + a.args)[index - len(a.defaults)]


def given_to(
    function: Node, args: list[_Value], keywords: dict[str, _Value], make: Callable[..., _Value]
) -> dict[str, _Value] | None:
    """The value of each parameter in a call; None where the call does not fit. `make` makes the value of a default: see `make`
    of values/."""
    a = function.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    free = {*names[max(len(args), len(a.posonlyargs)) :], *(p.arg for p in a.kwonlyargs)}  # what a keyword may name
    if a.vararg or a.kwarg or len(args) > len(names) or not free.issuperset(keywords):
        return None
    values = {**dict(zip(names, args)), **keywords}
    known = defaults(function)
    for name in (*names, *(p.arg for p in a.kwonlyargs)):
        if name not in values:
            if name not in known:
                return None
            default = known[name]
            plain = default.__class__ is ast.Constant
            values[name] = (
                make("const", (), constant(default), default) if plain else make("opaque", (), id(default), default)
            )
    return values


def number(node: Node) -> Any:
    """The value of a constant, which may have a minus; None for anything else."""
    if node.__class__ is ast.UnaryOp and node.op.__class__ is ast.USub and type(constant(node.operand)) in (int, float):
        return -constant(node.operand)
    return constant(node)


def default_of(function: Node, name: str) -> Any:
    """The default of a parameter, if it is a constant."""
    known = defaults(function)
    return number(known[name]) if name in known else None


def defaults(function: Node) -> dict[str, ast.expr]:
    """The default of each parameter that has one."""
    a = function.args
    named = [p.arg for p in (*a.posonlyargs, *a.args)]
    values = dict(zip(named[len(named) - len(a.defaults) :], a.defaults))
    return values | {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None}


def dotted(node: Node) -> str:
    """`a.b.c` as text; "" where the expression is not just names and dots."""
    words = []
    while node.__class__ is ast.Attribute:
        words.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(words)]) if node.__class__ is ast.Name else ""


def is_called(function: Node, default: ast.expr) -> bool:
    """Whether a function calls the parameter that has this default: `def __init__(self, act=nn.GELU): self.act = act()`."""
    name = defaulted(function.args, default).arg
    calls = (node.func for node in walk(function) if node.__class__ is ast.Call)
    return any(func.__class__ is ast.Name and func.id == name for func in calls)
