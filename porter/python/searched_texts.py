"""Finds strings that a function of the file only looks for in the text of a file: `self._check(path, "cuda")`, `if device in content:`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.python.evidence import call_name
from porter.python.index import Link, Node, owner_of
from porter.python.parameters import is_static, positional
from porter.regex import rare

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

_READ = frozenset({"read", "read_text", "getsource"})  # functions that give a whole text
_READS = rare(rb"\.(?:read|read_text|getsource)\(|\bgetsource\(")


def is_searched(file: RuleFile, link: Link) -> bool:
    """Whether the string at `link` is an argument that its function looks for in a text, and shows at most besides."""
    if link[1][0].__class__ is not ast.Call or not file.source.says(_READS):
        return False
    parameter = _parameter(file, link)
    uses = file.names.readers(parameter[0].arg, parameter) if parameter is not None else []
    sought = [use for use in uses if use[1][0].__class__ is not ast.FormattedValue]
    return bool(sought) and all(_is_sought(file, use) for use in sought)


def _parameter(file: RuleFile, link: Link) -> Link | None:
    """The parameter that takes a positional argument, of a function or a method whose name only one of the file has."""
    names: Any = file.names
    call, func = link[1][0], link[1][0].func
    several: list[Link] = names.scopes.functions.get(call_name(func), [])
    if len(several) != 1 or link[0] not in call.args:
        return None
    function = several[0]
    bound = owner_of(function) is not None and not is_static(function[0])
    if bound is not (func.__class__ is ast.Attribute and getattr(func.value, "id", "") in ("self", "cls")):
        return None
    taken = positional(function[0].args, call.args.index(link[0]) + bound)
    return (taken, (function[0].args, function)) if taken else None


def _is_sought(file: RuleFile, use: Link) -> bool:
    """`device in open(path).read()`, or the same of a name for what was read."""
    compared: Node = use[1][0]
    if compared.__class__ is not ast.Compare or compared.left is not use[0] or len(compared.ops) != 1:
        return False
    if compared.ops[0].__class__ not in (ast.In, ast.NotIn):
        return False
    text: Node = compared.comparators[0]
    if text.__class__ is not ast.Name:
        return _is_read(text)
    bindings = file.names.bindings(text.id, use[1])
    return bool(bindings) and all(b[1] is not None and _is_read(getattr(b[1][0], "value", None)) for b in bindings)


def _is_read(value: Node) -> bool:
    return value.__class__ is ast.Call and call_name(value.func) in _READ
