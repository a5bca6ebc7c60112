"""Imports in a `try`, without which the program takes another way that is written already."""

from __future__ import annotations

import ast
from collections.abc import Container

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import BODIES, place
from porter.python.evidence import call_name, constant
from porter.python.imports import handler_of
from porter.python.index import FUNCTIONS, ancestors, walk
from porter.python.uses import imports_of

_SAYING = frozenset(
    "print warn warning info debug error exception critical exit ImportError RuntimeError ModuleNotFoundError".split()
)
_DEEPEST = 2  # callers of callers


def falls_back(package: str, names: list[str], file: RuleFile) -> bool:
    """Whether an import needs no port: the code only asks whether the package is there, or all that uses the names stands where
    the package is there, and what runs else computes it another way."""
    link = file.scene.link_to(file.statement)
    up = next((above for above in ancestors(link) if above[0].__class__ is ast.Try), None) if link is not None else None
    if up is None or handler_of(up[0]) is None:
        return False
    uses = [use for name in names for use in file.names.spelled(name) if _is_read(use)]
    if not uses:
        return _only_asks(up[0], file) and len(imports_of(file, package)) == 1
    if all(any(above is up[0] for above, _ in ancestors(use)) for use in uses):
        return _computes_else(up)
    flags = {*flags_of(up[0]), *(name for name in names if _is_none_else(name, up[0]))}
    outside = [use for use in uses if not any(above is up[0] for above, _ in ancestors(use))]
    return bool(flags) and all(_is_behind(use, flags, file, 0) for use in outside)


def _is_read(use: Link) -> bool:
    return getattr(use[0], "ctx", None).__class__ is ast.Load


def _only_asks(node: ast.Try, file: RuleFile) -> bool:
    """`try: import vllm; return True`, `except ImportError: return False`: nothing else is in it."""
    handler = handler_of(node)
    body = node.body[1:] if node.body[0] is file.statement else []
    if len(body) != 1 or handler is None or len(handler.body) != 1 or node.orelse:
        return False
    both = (body[0], handler.body[0])
    return all(isinstance(way, ast.Return) for way in both) and [
        constant(getattr(way, "value", None)) for way in both
    ] == [True, False]


def _computes_else(up: Link) -> bool:
    """In a function, what follows `except` calls something."""
    if not any(above[0].__class__ in FUNCTIONS for above in ancestors(up)):
        return False
    calls = [n for handler in up[0].handlers for n in walk(handler) if n.__class__ is ast.Call]
    return any(call_name(call.func) not in _SAYING for call in calls)


def flags_of(node: ast.Try) -> set[str]:
    """The names that are True where the import succeeds, and False where it fails."""
    handler = handler_of(node)
    told = [*node.body, *node.orelse]
    return _set_to(True, told) & _set_to(False, handler.body if handler is not None else [])


def _set_to(value: object, statements: list[ast.stmt]) -> set[str]:
    plain = [s for s in statements if isinstance(s, ast.Assign) and constant(s.value) is value and len(s.targets) == 1]
    return {s.targets[0].id for s in plain if isinstance(s.targets[0], ast.Name)}


def _is_none_else(name: str, node: ast.Try) -> bool:
    """`flash = None` where the import fails."""
    handler = handler_of(node)
    for statement in handler.body if handler is not None else ():
        if isinstance(statement, ast.Assign) and any(getattr(t, "id", "") == name for t in statement.targets):
            return statement.value.__class__ is ast.Constant and constant(statement.value) is None
    return False


def _is_behind(use: Link, flags: set[str], file: RuleFile, depth: int) -> bool:
    """Whether a place runs only where a flag is true, and something else than a refusal runs where it is false. A function may
    be called at such places alone."""
    child = use[0]
    for up in ancestors(use):
        above = up[0]
        if above.__class__ in (ast.If, ast.IfExp) and child is above.test and asks(child, flags):
            return True  # the question itself
        if above.__class__ is ast.IfExp and child is above.body and asks(above.test, flags):
            return True
        if above.__class__ is ast.If and place(above, child)[0] == "body" and asks(above.test, flags):
            return _goes_on(_others(up))
        if above.__class__ in FUNCTIONS[:2]:
            callers = [c for c in file.names.spelled(above.name) if c[0].__class__ is ast.Name and _is_read(c)]
            is_plain = up[1] is not None and up[1][0].__class__ is ast.Module and not above.decorator_list
            return (
                is_plain and bool(callers) and depth < _DEEPEST
                and not file.source.says(b"__all__")
                and all(_is_behind(caller, flags, file, depth + 1) for caller in callers)
            )  # fmt: skip
        child = above
    return False


def asks(test: Node, flags: Container[str]) -> bool:
    """Whether a condition is true only where one of the flags is."""
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And:
        return any(asks(value, flags) for value in test.values)
    if test.__class__ is ast.Compare and test.ops[0].__class__ is ast.IsNot and len(test.ops) == 1:
        return getattr(test.left, "id", "") in flags and constant(test.comparators[0]) is None
    return getattr(test, "id", "") in flags


def _others(choice: Link) -> list[ast.stmt]:
    """What runs where an `if` is false: its `else`, or what follows an `if` that returns."""
    node: Node = choice[0]
    if node.orelse or node.body[-1].__class__ is not ast.Return or choice[1] is None:
        return list(node.orelse)
    field, index = place(choice[1][0], node)
    return list(getattr(choice[1][0], field)[index + 1 :]) if field in BODIES else []


def _goes_on(statements: list[ast.stmt]) -> bool:
    return bool(statements) and not any(isinstance(statement, ast.Raise) for statement in statements)
