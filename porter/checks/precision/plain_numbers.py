"""Numbers of Python: what is written as one, a parameter that is one unless a caller says otherwise, and an option that is
named like one."""

from __future__ import annotations

import ast

from porter.python.evidence import constant
from porter.python.index import Link, Node, ancestors, walk
from porter.python.parameters import default_of, parameters
from porter.regex import lazy
from porter.training.frequency import is_option

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
# options that are a single number: `args.init_temperature`
_SCALED = lazy(r"(?i)temp(?:erature)?$|alpha|(?:^|_)(?:init|initial|min|max|scale|std|eps|lr)(?:_|$)|tau$")
_KINDS = frozenset({"float", "int"})


def is_number(node: Node, link: Link) -> bool:
    """Whether an expression is one where it stands."""
    if node.__class__ is ast.UnaryOp:
        return is_number(node.operand, link)
    if node.__class__ is ast.BinOp:
        return is_number(node.left, link) and is_number(node.right, link)
    if node.__class__ is ast.Name:
        return _is_given(node.id, link)
    if node.__class__ is ast.Attribute and _SCALED.search(node.attr):
        return is_option(node)
    return type(constant(node)) in (int, float)


def _is_given(name: str, link: Link) -> bool:
    """A parameter of the function around, by its default or its annotation, that is set to nothing else."""
    function = next((a[0] for a in ancestors(link) if a[0].__class__ in _DEFS), None)
    if function is None or name not in parameters(function) or _is_set(function, name):
        return False
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    kinds = (a.annotation for a in arguments if a.arg == name)
    annotated = any(getattr(kind, "id", "") in _KINDS for kind in kinds)
    return annotated or type(default_of(function, name)) in (int, float)


def _is_set(function: Node, name: str) -> bool:
    names = (n for n in walk(function) if n.__class__ is ast.Name and n.id == name)
    return any(n.ctx.__class__ is not ast.Load for n in names)
