"""float64 that reaches the device behind a name: a parameter that is float64 by default, and state that moves with its module."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import Hit
from porter.engine.rule_file import RuleFile
from porter.python import parameters
from porter.python.evidence import call_name, like
from porter.python.index import Link, Node, walk
from porter.regex import lazy

_HOLDERS = frozenset({"register_buffer", "add_state", "Parameter"})
_TYPED = lazy(r"(?i)dtype")
_CASTS = frozenset({"to", "type"})


def is_held(link: Link) -> bool:
    """Whether what a call makes becomes state of a module: `self.register_buffer("mean", torch.zeros(n, dtype=...))`."""
    above = link[1] and link[1][0]
    call = link[1][1][0] if above.__class__ is ast.keyword else above
    return call.__class__ is ast.Call and call_name(call.func) in _HOLDERS and link[0] is not call.func


def defaulted(original: Any, file: RuleFile) -> Hit | None:
    """A type that is the default of a parameter, where the function around is given a device, and casts to the parameter or
    hands it to what has such a parameter, too."""
    link = file.link(original)
    while link is not None and link[1] is not None and link[1][0].__class__ is ast.Attribute:
        link = link[1]
    arguments = link[1] if link is not None else None
    if link is None or arguments is None or arguments[0].__class__ is not ast.arguments or arguments[1] is None:
        return None
    function, name = arguments[1][0], parameters.defaulted(arguments[0], link[0]).arg
    has_device = any(like(parameter, "device") for parameter in parameters.parameters(function))
    says = _TYPED.search(name) and has_device and _is_cast_to(function, name)
    return Hit(original, "defaulted", values=(("name", name),)) if says else None


def _is_cast_to(function: Node, name: str) -> bool:
    for node in walk(function):
        if node.__class__ is ast.Call:
            given = [k.value for k in node.keywords if k.arg in ("dtype", name)]
            given += node.args if call_name(node.func) in _CASTS else []
            if any(getattr(value, "id", "") == name for value in given):
                return True
    return False
