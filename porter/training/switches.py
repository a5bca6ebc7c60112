"""Finds conditions that are false for as long as nobody asks for them: `if merge:` in a function that only sets `merge = False`,
and switches of the environment: `if os.environ.get("CHECKS") == "1":`, `CHECKS = bool(int(os.getenv("CHECKS", "0")))`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.regex import lazy, rare

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext

_READS = rare(rb"\benviron\b|\bgetenv\b")
# what launchers and drivers set by themselves, whoever asks for it
_SET_BY_OTHERS = lazy(r"(?i)rank|world|master|slurm|mpi|pmi_|node|local_|proc|job|device|gpu|cuda|npu|ascend")
_UNKNOWN: Any = object()
_CASES = frozenset({"lower", "upper", "strip", "casefold"})
_KINDS: dict[str, Callable[[Any], Any]] = {"bool": bool, "int": int, "str": str}
_COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: bool(a == b),
    ast.NotEq: lambda a, b: bool(a != b),
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}


def is_off(scene: AnyContext, test: Node, link: Link) -> bool:
    """Whether a condition is false unless somebody sets a variable of the environment, or always."""
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And:
        return any(is_off(scene, value, link) for value in test.values)
    environment = scene.file.source.says(_READS)
    if test.__class__ is not ast.Name:
        return environment and _is_unset(test)
    values = values_of(scene.names, test, link)
    bound = scene.names.bindings(test.id, link)
    if values and all(getattr(v, "value", None) is False for v in values):
        around = _function(link)
        return around is not None and all(_function(binding) is around for binding in bound)
    if not environment or len(bound) != 1 or _function(bound[0]) is not None:
        return False
    above: Node = bound[0][1] and bound[0][1][0]
    return above.__class__ in (ast.Assign, ast.AnnAssign) and above.value is not None and _is_unset(above.value)


def _function(link: Link) -> Node:
    return next((a[0] for a in ancestors(link) if a[0].__class__ in FUNCTIONS[:2]), None)


def _is_unset(node: Node) -> bool:
    value = _value(node)
    return value is not _UNKNOWN and not value and any(map(_variable, ast.walk(node)))


def _variable(node: Node) -> str:
    """The variable that an expression reads: `os.environ.get("X")`, `os.getenv("X", "0")`, `"X" in os.environ`."""
    name: Node = None
    if node.__class__ is ast.Call and node.args:
        of_environment = call_name(node.func) == "get" and call_name(getattr(node.func, "value", None)) == "environ"
        name = node.args[0] if of_environment or call_name(node.func) == "getenv" else None
    elif node.__class__ is ast.Compare and call_name(node.comparators[0]) == "environ":
        name = node.left
    text = getattr(name, "value", "")
    return text if isinstance(text, str) and not _SET_BY_OTHERS.search(text) else ""


def _value(node: Node) -> Any:
    """What an expression is where no variable is set; _UNKNOWN where that cannot be told."""
    if node.__class__ is ast.Constant:
        return node.value
    if node.__class__ in (ast.Tuple, ast.List, ast.Set):
        parts = [_value(part) for part in node.elts]
        return _UNKNOWN if _UNKNOWN in parts else parts
    if node.__class__ is ast.UnaryOp and node.op.__class__ is ast.Not:
        value = _value(node.operand)
        return value if value is _UNKNOWN else not value
    if node.__class__ is ast.BoolOp:
        return _joined(node)
    if node.__class__ is ast.Compare:
        return _compared(node)
    return _called(node) if node.__class__ is ast.Call else _UNKNOWN


def _joined(node: ast.BoolOp) -> Any:
    value: Any = _UNKNOWN
    for part in node.values:
        value = _value(part)
        if value is _UNKNOWN or bool(value) is (node.op.__class__ is ast.Or):
            return value
    return value


def _compared(node: ast.Compare) -> Any:
    if _variable(node):
        return node.ops[0].__class__ is ast.NotIn
    compare = _COMPARED.get(node.ops[0].__class__)
    left, right = _value(node.left), _value(node.comparators[0])
    if compare is None or len(node.ops) != 1 or left is _UNKNOWN or right is _UNKNOWN:
        return _UNKNOWN
    try:
        return compare(left, right)
    except TypeError:
        return _UNKNOWN


def _called(node: ast.Call) -> Any:
    if _variable(node):
        return _value(node.args[1]) if len(node.args) == 2 else _UNKNOWN if node.keywords else None
    name, func = call_name(node.func), node.func
    try:
        if name in _CASES and isinstance(func, ast.Attribute) and not node.args:
            value = _value(func.value)
            return getattr(value, name)() if isinstance(value, str) else _UNKNOWN
        if name in _KINDS and isinstance(func, ast.Name) and len(node.args) == 1:
            value = _value(node.args[0])
            return value if value is _UNKNOWN else _KINDS[name](value)
    except (TypeError, ValueError):
        pass
    return _UNKNOWN
