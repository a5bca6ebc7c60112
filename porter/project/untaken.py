"""Finds branches that no caller in the project takes: `if mask is not None:` where all leave `mask` at its default, None, and
`if self.activation == "gelu":` where all make the object without one.

It holds for a parameter that its function does not set, and for a value that only `__init__` sets, from such a parameter.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from porter.files.paths import is_test
from porter.project.decided_parameters import Place, is_plain, parameter
from porter.project.never_run import set_in
from porter.project.passed_values import SOME, Parameter, PassedValues, Texts, Values, plain
from porter.project.set_by_name import may_set, set_by_name
from porter.python.blocks import once
from porter.python.index import Node
from porter.python.trees import parse
from porter.python.walks import statements, walk
from porter.spans import Span, span_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_KEPT = 8  # trees of other files; several calls of a function are mostly in a few
_ORDERS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class _Question(NamedTuple):
    """A line runs only if this condition has this value; if it never has, these lines do not run."""

    test: ast.expr
    wanted: bool
    span: Span
    apart: tuple[Span, ...]  # lines of other branches, after which the condition is never asked


class Untaken:
    """Such branches of the files of a project."""

    def __init__(
        self,
        texts: Texts,
        is_installed: Callable[[str], bool] = lambda path: False,
        may_be_any: Callable[[str], bool] = lambda path: False,
    ) -> None:
        """`is_installed`: whether others may install a file. `may_be_any`: whether parts of it may be named at run time."""
        self._texts, self._passed = texts, PassedValues(texts, self._source)
        self._is_installed, self._may_be_any = is_installed, may_be_any
        self._parse = lru_cache(_KEPT)(parse)
        self._set_elsewhere: dict[tuple[str, str], bool] = {}
        self._set_by_name: list[frozenset[str] | None] | None = None  # of each file that sets any

    def at(self, tree: ast.Module, text: bytes, path: str, line: int, is_open: bool = False) -> str:
        """The condition that keeps a line of a file from running; "" for none. `is_open`: others may call all that is not
        private."""
        for function, owner in _functions(tree):
            if function.lineno <= line <= (function.end_lineno or 0):
                place = Place(path, function, owner, is_open)
                for question in _questions(function.body, line):
                    if condition := self._never(question.test, question, place, tree, text):
                        return condition
        return ""

    def off(self, tree: ast.Module | None, text: bytes, path: str, line: int, keyword: str, is_open: bool) -> str:
        """The value of a keyword in a line, if that is a parameter which no caller hands anything for that is true."""
        if tree is None:
            return ""
        for function, owner in _functions(tree):
            if function.lineno <= line <= (function.end_lineno or 0):
                values = [k.value for k in walk(function) if isinstance(k, ast.keyword) and k.arg == keyword]
                for value in (value for value in values if value.lineno == line):
                    asked = _Question(value, True, (line, line), ())
                    return self._never(value, asked, Place(path, function, owner, is_open), tree, text)
        return ""

    def _never(self, test: Node, asked: _Question, place: Place, tree: ast.Module, text: bytes) -> str:
        """The part of a condition because of which it never has the value that is wanted."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._never(test.operand, asked._replace(wanted=not asked.wanted), place, tree, text)
        if isinstance(test, ast.BoolOp):
            several = [self._never(value, asked, place, tree, text) for value in test.values]
            one_decides = isinstance(test.op, ast.And) == asked.wanted
            return next(filter(None, several), "") if one_decides or all(several) else ""
        subject = _subject(test)
        values = self._values(subject, asked, place, tree, text) if subject is not None else None
        answers = {_answer(test, subject, value) for _, value in values} if values else {None}
        return ast.unparse(test) if answers == {not asked.wanted} else ""

    def _values(self, subject: Node, asked: _Question, place: Place, tree: ast.Module, text: bytes) -> Values | None:
        """The constants that a parameter, or a value of `self`, may have where it is asked."""
        skipped = sorted((asked.span, *asked.apart))
        decided = self._decided(subject, skipped, place, tree, text)
        return self._passed.of(decided) if decided else None

    def _decided(
        self, subject: Node, skipped: Sequence[Span], place: Place, tree: ast.Module, text: bytes
    ) -> Parameter | None:
        """The parameter that a name, or a value of `self`, is in a function, if nothing outside of some lines sets it again."""
        function, owner = place.function, place.owner
        if isinstance(subject, ast.Attribute):
            name = self._kept(owner, subject.attr, place.path, tree) if owner and is_plain(owner, tree) else ""
            found = next((f for f in owner.body if getattr(f, "name", "") == "__init__"), None) if owner else None
            if not name or found is None or may_set(subject.attr, set_by_name(text, own=True)):
                return None
            function = found
        else:
            name = subject.id
        outside = [node for node in set_in(function).get(name, ()) if span_of(node.lineno, skipped) is None]
        if len(outside) != 1 or not isinstance(outside[0], ast.arg):
            return None
        return parameter(name, place._replace(function=function), tree, text)

    def _source(self, path: str, text: bytes, line: int, value: Node) -> Parameter | None:
        """The parameter that a value is in a line of another file."""
        if _subject(value) is not value or is_test(path) or self._may_be_any(path):
            return None
        tree = self._parse(text)
        around = [(f, owner) for f, owner in _functions(tree) if f.lineno <= line <= f.end_lineno] if tree else []
        if tree is None or not around:
            return None
        function, owner = max(around, key=lambda pair: pair[0].lineno)
        return self._decided(value, (), Place(path, function, owner, self._is_installed(path)), tree, text)

    def _kept(self, owner: ast.ClassDef, name: str, path: str, tree: ast.Module) -> str:
        """The parameter of `__init__` that is the only thing that a value of `self` is ever set to; "" for none, as of what
        torch sets."""
        init = next((node for node in owner.body if getattr(node, "name", "") == "__init__"), None)
        assigns = (node for node in getattr(init, "body", ()) if isinstance(node, ast.Assign))
        sets = [value for node in assigns for value in _given_to(node, name)]
        stores = _stores(tree).get(name, [])
        inside = [n for n in stores if owner.lineno <= n.lineno <= (owner.end_lineno or 0)]
        foreign = [n for n in stores if n not in inside and getattr(n.value, "id", "") != "self"]
        if name == "training" or len(sets) != 1 or len(inside) != 1 or foreign or not isinstance(sets[0], ast.Name):
            return ""
        return "" if self._is_set_elsewhere(name, path) else sets[0].id

    def _is_set_elsewhere(self, name: str, home: str) -> bool:
        """Whether another file may set a value of this name of an object, other than `self`."""
        if (name, home) not in self._set_elsewhere:
            texts, word = self._texts(name.encode(), home), re.escape(name.encode())
            sets = re.compile(
                rb"%s(?<=\.%s)(?<!\bself\.%s)[ \t]*(?:[^\w\s=!<>()\[\].,:]{0,3}=(?!=)|:[^\n]*=|,[^\n=()]*=(?!=))"
                rb"|setattr\([^\n]*[\"']%s[\"']" % (word, word, word, word)
            )
            found = texts is None or any(sets.search(text) for path, text in texts if path != home)
            self._set_elsewhere[name, home] = found or self._may_be_set_by_name(name, home)
        return self._set_elsewhere[name, home]

    def _may_be_set_by_name(self, name: str, home: str) -> bool:
        """Whether a file sets values of objects, other than options, by names made at run time, and may set this one."""
        if self._set_by_name is None:
            texts = self._texts(b"setattr", home)
            self._set_by_name = [None] if texts is None else [set_by_name(text) for _, text in texts]
        return any(may_set(name, names) for names in self._set_by_name)


@once
def _functions(tree: ast.Module) -> list[tuple[Node, ast.ClassDef | None]]:
    """The functions of a file, each with the class whose method it is."""
    methods = {f: node for node in statements(tree) if isinstance(node, ast.ClassDef) for f in node.body}
    return [(node, methods.get(node)) for node in statements(tree) if isinstance(node, _FUNCTIONS)]


@once
def _stores(tree: ast.Module) -> dict[str, list[ast.Attribute]]:
    """The attributes that a file sets or deletes, by name."""
    found: dict[str, list[ast.Attribute]] = {}
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.attr, []).append(node)
    return found


def _questions(body: list[Any], line: int, apart: tuple[Span, ...] | None = ()) -> Iterator[_Question]:
    """The conditions that decide whether a line of these statements runs, the outermost first. `apart`: the other branches of
    the conditions around; None in a loop, where they may have been taken before."""
    for number, node in enumerate(body):
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            yield from _questions_inside(node, line, apart)
            return
        if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _LEAVES):
            yield _Question(node.test, False, _span(body[number + 1 :]), apart or ())


def _questions_inside(node: Node, line: int, apart: tuple[Span, ...] | None) -> Iterator[_Question]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return  # what decides in there is asked of the inner function
    apart = None if isinstance(node, _LOOPS) else apart
    for name in _BLOCKS:
        block = getattr(node, name, None) or []
        if name == "cases":
            block = [inner for case in block for inner in case.body]
        if not block:
            continue
        first, last = _span(block)
        if first <= line <= last:
            if isinstance(node, ast.If):
                yield _Question(node.test, name == "body", (first, last), apart or ())
                apart = (*apart, _span(node.body)) if apart is not None and name == "orelse" else apart
            yield from _questions(block, line, apart)
            return


def _span(block: list[Any]) -> Span:
    return block[0].lineno, block[-1].end_lineno or block[-1].lineno


def _subject(test: Node) -> Node | None:
    """The one name, or value of `self`, whose value decides a condition."""
    sides = [test]
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = [side for side in (test.left, test.comparators[0]) if not _is_constant(side)]
    if len(sides) != 1:
        return None
    if isinstance(sides[0], ast.Attribute):
        return sides[0] if getattr(sides[0].value, "id", "") == "self" else None
    return sides[0] if isinstance(sides[0], ast.Name) else None


def _is_constant(node: Node) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(map(plain, node.elts))
    return plain(node) is not None


def _answer(test: Node, subject: Node, value: object) -> bool | None:
    """Whether a condition holds for a value of its subject; None if that cannot be asked."""
    if value is SOME[1] and not _asks_for_none(test):
        return None
    if test is subject:
        return bool(value)
    sides = [value if side is subject else _literal(side) for side in (test.left, test.comparators[0])]
    try:
        return bool(_ORDERS[test.ops[0].__class__](*sides))
    except TypeError:
        return None


def _asks_for_none(test: Node) -> bool:
    """Whether a condition is `x is None`, or one of its kind."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return False
    return any(plain(side) == (type(None), None) for side in (test.left, test.comparators[0]))


def _literal(node: Node) -> object:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return tuple(_literal(inner) for inner in node.elts)
    known = plain(node)
    return known[1] if known else None


def _given_to(node: ast.Assign, name: str) -> list[ast.expr]:
    """What a statement sets `self.name` to: `self.name = x`, `self.size, self.name = 8, x`."""
    targets, values = [node.targets[0]], [node.value]
    if isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        targets, values = targets[0].elts, node.value.elts
    if len(node.targets) != 1 or len(targets) != len(values) or any(isinstance(t, ast.Starred) for t in targets):
        return []
    return [
        value
        for target, value in zip(targets, values)
        if isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self" and target.attr == name
    ]
