"""Finds questions for a GPU that are about 8-bit floats alone: `if args.fp8 and device_type == "cuda":`.

On a chip that does not compute in them, an NPU takes the way without a GPU, as the program has it: without them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once, within
from porter.python.evidence import call_name, is_log_call
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.opened import branch, choice
from porter.regex import lazy
from porter.target import WITHOUT_FLOAT8

if TYPE_CHECKING:
    from porter.python.file import File

_NAMED = lazy(r"(?i)fp8|float8|e4m3|e5m2")
_SAID = lazy(rb"(?i)fp8|float8|e4m3|e5m2")
_SKIPS = frozenset({"skipif", "skipIf", "skipUnless"})
_CHECKS = (ast.Attribute, ast.Compare, ast.UnaryOp)  # a question as a part of a condition
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try)


def decided(file: File, question: Link | None, answer: Link | None, yes: bool = True) -> str | None:
    """What names 8-bit floats where a question for a GPU is asked for them. `answer`: the call or the comparison that it stands in,
    which is `yes` for a GPU."""
    if question is None or answer is None or file.target.soc not in WITHOUT_FLOAT8 or not file.source.says(_SAID):
        return None
    if (found := choice(answer, yes)) and (name := _chosen(*found)):
        return name
    child = question[0]
    for up in ancestors(question):
        above, kind = up[0], up[0].__class__
        if kind is ast.BoolOp:
            if name := _beside(above, child):
                return name
        elif kind in (ast.If, ast.Assert):
            if child is not above.test:
                return None
            return _named(getattr(above, "msg", None)) or _around(up)
        elif kind in (ast.Assign, ast.AnnAssign, ast.keyword):
            return _named(above.arg if kind is ast.keyword else getattr(above, "target", None) or above.targets[0])
        elif kind is ast.Call and child is not above.func and call_name(above.func) in _SKIPS:
            return next((name for part in (*above.args, *above.keywords) if (name := _named(part))), None)
        elif kind is ast.Return:
            return _named(next((f[0].name for f in ancestors(up) if isinstance(f[0], FUNCTIONS[:2])), None))
        elif kind is not ast.Call and not isinstance(above, _CHECKS):
            return None
        child = above
    return None


def _chosen(opened: Link, yes: bool) -> str | None:
    """What a branch names that is about nothing else; that of a GPU, or the other where that is empty."""
    gpu, other = branch(opened[0], yes), branch(opened[0], not yes)
    if opened[0].__class__ is ast.IfExp:
        return _named(gpu[0])
    return _all_about(gpu or other)


def _beside(test: ast.BoolOp, question: Node) -> str | None:
    """`args.fp8` of `args.fp8 and question`, or of `not args.fp8 or question`."""
    others = [value for value in test.values if value is not question]
    if isinstance(test.op, ast.Or):
        others = [value.operand for value in others if isinstance(value, ast.UnaryOp)]
    return next((name for value in others if (name := _asked(value))), None)


def _around(link: Link) -> str | None:
    """What a condition around a statement asks for."""
    child = link[0]
    for above, _ in ancestors(link):
        if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
            return None
        if above.__class__ is ast.If and within(above, child, "body") and (name := _asked(above.test)):
            return name
        child = above
    return None


@once
def _asked(test: Node) -> str | None:
    """What names 8-bit floats in a condition that holds only with them."""
    kind = test.__class__
    if kind is ast.BoolOp:
        parts = test.values if isinstance(test.op, ast.And) else ()
        return next((name for value in parts if (name := _asked(value))), None)
    if kind is ast.Compare:
        side, operator = test.comparators[0], test.ops[0]
        is_nothing = side.__class__ is ast.Constant and side.value in (None, False, "none")
        if isinstance(operator, (ast.IsNot, ast.NotEq)):
            return _named(test.left) if is_nothing else None
        if isinstance(operator, (ast.Eq, ast.Is)):
            return None if is_nothing else _named(test)
        each = getattr(side, "elts", ()) if isinstance(operator, ast.In) else ()
        return _named(side) if each and all(map(_named, each)) else None
    return _named(test) if kind in (ast.Name, ast.Attribute, ast.Call, ast.Subscript) else None


def _all_about(block: list[Node]) -> str | None:
    """What a block names that does nothing without 8-bit floats, but to tell a person or to answer."""
    found: str | None = None
    for statement in block:
        if isinstance(statement, _BLOCKS):
            inner = [*statement.body, *getattr(statement, "orelse", ())]
            name = _all_about(inner)
        else:
            name = _named(statement)
        if name is None and not _only_tells(statement):
            return None
        found = found or name
    return found


def _only_tells(statement: Node) -> bool:
    if isinstance(statement, ast.Return):
        return statement.value is None or statement.value.__class__ is ast.Constant
    return isinstance(statement, (ast.Raise, ast.Pass)) or is_log_call(getattr(statement, "value", None))


def _named(part: Node) -> str | None:
    """The first word of a part of the tree that names them."""
    if isinstance(part, str):
        return part if _NAMED.search(part) else None
    for inner in walk(part) if part is not None else ():
        words = (getattr(inner, field, None) for field in ("id", "attr", "name", "module", "arg", "value"))
        for word in (word for word in words if isinstance(word, str)):
            if match := _NAMED.search(word):
                return word if word.isidentifier() else match[0]
    return None
