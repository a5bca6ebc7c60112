"""Says what becomes of a variable: it is set in a copy of the environment, or to what holds without it."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import ancestors


def is_in_copy(target: ast.Name, link: Link, file: RuleFile) -> bool | None:
    """Whether a mapping is a copy of the environment that is not written back; None where it is no copy."""
    names: Any = file.names
    if not any(_is_copy(value, file, link) for value in values_of(names, target, link)):
        return None
    readers = names.readers(target.id, link)
    return not names.once("goes back", readers, lambda: any(_goes_back(use, file) for use in readers))


def _is_copy(value: Node, file: RuleFile, link: Link) -> bool:
    """`os.environ.copy()`, `dict(os.environ)`, `{**os.environ}`, `os.environ | {...}`: what is written there stays there."""
    if value.__class__ is ast.Call:
        func, args = value.func, value.args
        copied = func.value if isinstance(func, ast.Attribute) and func.attr == "copy" else None
        copied = args[0] if isinstance(func, ast.Name) and func.id == "dict" and args else copied
    elif value.__class__ is ast.Dict:
        copied = next((v for k, v in zip(value.keys, value.values, strict=True) if k is None), None)
    else:
        copied = value.left if value.__class__ is ast.BinOp else None
    return copied is not None and file.names.resolve(copied, link) == "os.environ"


def _goes_back(use: Link, file: RuleFile) -> bool:
    """`os.environ.update(env)`"""
    above: Node = use[1] and use[1][0]
    return above.__class__ is ast.Call and file.names.resolve(above.func, use) == "os.environ.update"


def names_all(link: Link, file: RuleFile) -> bool:
    """Whether the variable is set to all devices, if they were counted: `",".join(map(str, range(torch.cuda.device_count())))`.
    That changes nothing."""
    above = next((up for up in ancestors(link) if up[0].__class__ is ast.Assign), None)
    join: Node = above and above[0].value
    if above is None or join.__class__ is not ast.Call or call_name(join.func) != "join" or len(join.args) != 1:
        return False
    given: Node = join.args[0]
    if isinstance(given, (ast.GeneratorExp, ast.ListComp)):
        given = given.generators[0].iter if not given.generators[0].ifs else None
    elif given.__class__ is ast.Call and call_name(given.func) == "map":
        given = given.args[-1]
    names: Any = file.names
    named = values_of(names, given, above) if given.__class__ is ast.Name else [given]
    return any(_is_range_of_all(way) for value in named for way in _ways(value))


def _ways(value: Node) -> tuple[Node, ...]:
    return (value.body, value.orelse) if value.__class__ is ast.IfExp else (value,)


def _is_range_of_all(value: Node) -> bool:
    """`range(torch.cuda.device_count())`, also in a list."""
    while value.__class__ is ast.Call and call_name(value.func) in ("list", "range") and len(value.args) == 1:
        value = value.args[0]
    return value.__class__ is ast.Call and call_name(value.func) == "device_count"
