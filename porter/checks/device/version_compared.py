"""Checks that CUDA's version fits: blocks that are left out where there is none, and change nothing there."""

from __future__ import annotations

import ast

from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, walk

_SAYS = frozenset({"warn", "warning", "print", "info", "error", "debug"})


def is_checked(link: Link, name: str, file: RuleFile) -> bool:
    """Whether a version is read in `if torch.version.cuda is not None and ...: ...`, in a block that only compares, and raises or
    warns where something does not fit. `link`: of all that is asked for."""
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.If and not node.orelse and _asks_first(node.test, above, name, file):
            return _only_checks(node.body) and not _is_read_after(node, file)
        if node.__class__ in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
            return False
    return False


def _asks_first(test: Node, at: Link, name: str, file: RuleFile) -> bool:
    """`x`, `x is not None`, `x and ...`: false where it is None, before anything else is asked of it."""
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And:
        return _asks_first(test.values[0], (test, at), name, file)
    if test.__class__ is ast.Compare and len(test.ops) == 1 and test.ops[0].__class__ is ast.IsNot:
        is_none = test.comparators[0].__class__ is ast.Constant and constant(test.comparators[0]) is None
        return is_none and _asks_first(test.left, (test, at), name, file)
    return test.__class__ is ast.Attribute and file.names.resolve(test, (test, at)) == name


def _only_checks(body: list[ast.stmt]) -> bool:
    """Whether a block only sets names, and raises or warns."""
    parts = [n for statement in body for n in walk(statement)]
    statements: list[Node] = [n for n in parts if isinstance(n, ast.stmt)]
    kinds = {n.__class__ for n in statements}
    if not kinds <= {ast.If, ast.Assign, ast.Raise, ast.Expr, ast.Pass}:
        return False
    said = [n.value for n in statements if n.__class__ is ast.Expr]
    told = all(n.__class__ is ast.Call and call_name(n.func) in _SAYS for n in said)
    plain = all(
        t.__class__ in (ast.Name, ast.Tuple) for n in statements if n.__class__ is ast.Assign for t in n.targets
    )
    return told and plain and (bool(said) or ast.Raise in kinds)


def _is_read_after(node: Node, file: RuleFile) -> bool:
    """Whether a name that the block sets is read outside of it."""
    inside = set(walk(node))
    names = {n.id for n in inside if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
    reads = (use[0] for name in names for use in file.names.spelled(name))
    return any(use not in inside and getattr(use, "ctx", None).__class__ is ast.Load for use in reads)
