"""What runs whenever a function is called: its body as steps, and as choices of which every way must be known.

A step is the key of what is called or an `End`; a choice is a tuple of lists. What only runs on a GPU, behind a condition
of which the other side is free of it, or in a `try` that has something else to offer, is no step; behind a condition on
a number it is a `Perhaps`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from porter.python import evaluate
from porter.python.index import Node
from porter.python.waits import COPIES
from porter.regex import lazy

_MACHINE = lazy(r"(?i)cuda|capab|version|major|minor|arch|device|world|rank|\bsm_?\d*\b|count")
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class End(NamedTuple):
    """Something that no NPU has."""

    verdict: str  # kernel | triton | missing | package | code
    name: str
    line: int
    code: str = ""


@dataclass(frozen=True)
class Perhaps:
    """Steps behind a condition on a number, of which the other side is free of them."""

    when: str
    steps: Steps


Step: TypeAlias = "str | End | Perhaps | tuple[Steps, Steps]"
Steps: TypeAlias = "list[Step]"


class Body:
    def __init__(
        self,
        targets: Callable[[ast.Call], Steps],
        end: Callable[[ast.AST], End | None],
        imported: Callable[[ast.stmt], Sequence[Step]],
    ):
        """`targets`: what a call calls; `end`: what a node is found to be; `imported`: the modules that a statement runs."""
        self._targets, self._end, self._imported = targets, end, imported

    def block(self, statements: list[ast.stmt]) -> Steps:
        steps: Steps = []
        node: Node
        for index, node in enumerate(statements):
            kind = node.__class__
            if kind is ast.If:
                steps += self._expression(node.test)
                ways = self._ways(node, statements[index + 1 :])
                if ways is not None:
                    return steps + ways
                steps += self._choice(node)
            elif kind in (ast.Import, ast.ImportFrom):
                steps += [end] if (end := self._end(node)) else self._imported(node)
            elif kind is ast.Try:
                steps += self._try(node)
            elif kind is ast.Match or kind in _DEFS and not node.args.defaults:
                continue
            elif kind is ast.ClassDef:
                for base in node.bases:
                    steps += self._expression(base)
                steps += self.block(node.body)
            elif kind in _DEFS:
                for default in node.args.defaults:
                    steps += self._expression(default)
            elif kind in (ast.For, ast.AsyncFor):
                steps += self._expression(node.iter) + self.block(node.body)
            elif kind is ast.While:
                steps += self._expression(node.test) + self.block(node.body)
            elif kind in (ast.With, ast.AsyncWith):
                for item in node.items:
                    steps += self._expression(item.context_expr)
                steps += self.block(node.body)
                if evaluate.leaves(node.body):
                    return steps
            elif kind is ast.AnnAssign:
                steps += self._expression(node.value) if node.value is not None else []
            elif kind in (ast.Raise, ast.Assert, ast.Continue, ast.Break):
                if kind is not ast.Assert:
                    return steps
            else:
                for child in ast.iter_child_nodes(node):
                    steps += self._expression(child)
                if kind is ast.Return:
                    return steps
        return steps

    def _ways(self, node: ast.If, following: list[ast.stmt]) -> Steps | None:
        """Of a condition with a side that leaves: the rest of the block is a part of the other side."""
        sure, body, other = evaluate.truth(node.test), node.body, node.orelse
        if sure is not None:
            taken = body if sure else other
            return self.block(taken) if evaluate.leaves(taken) else None
        first, second = evaluate.leaves(body), evaluate.leaves(other)
        if evaluate.raises(body) or evaluate.raises(other) and other or not (first or second):
            return None
        if first and evaluate.on_nothing(node.test):
            return None
        return self._both(body if first else body + following, other if second else other + following, node.test)

    def _choice(self, node: ast.If) -> Steps:
        sure = evaluate.truth(node.test)
        if sure is not None:
            return self.block(node.body if sure else node.orelse)
        if evaluate.raises(node.orelse):
            return self.block(node.body)
        if evaluate.raises(node.body):
            return self.block(node.orelse)
        other = [] if evaluate.leaves(node.body) else node.orelse
        return self._both(node.body, other, node.test)

    def _both(self, body: list[ast.stmt], other: list[ast.stmt], test: ast.expr | None = None) -> Steps:
        number = test is not None and _asks_for_number(test)
        first = self.block(body)
        second = self.block(other) if first or number else []
        if first and second:
            return [(first, second)]
        if test is None or not number or not (first or second):
            return []
        asked = ast.unparse(test)
        return [Perhaps(asked if first else f"not {asked}", first or second)]

    def _try(self, node: ast.Try) -> Steps:
        if handler := evaluate.fallback(node):
            return self._both(node.body, handler.body) + self.block(node.finalbody)
        return self.block(node.body) + self.block(node.orelse) + self.block(node.finalbody)

    def _expression(self, node: Node) -> Steps:
        if end := self._end(node):
            return [end]
        kind = node.__class__
        steps: Steps = []
        if kind in (ast.Constant, ast.Name, ast.Lambda):
            return steps
        if kind is ast.IfExp:
            steps = self._expression(node.test)
            sure = evaluate.truth(node.test)
            if sure is not None:
                return steps + self._expression(node.body if sure else node.orelse)
            first, second = self._expression(node.body), self._expression(node.orelse)
            return steps + ([(first, second)] if first and second else [])
        if kind is ast.BoolOp:
            return self._expression(node.values[0])
        for child in ast.iter_child_nodes(node):
            steps += self._expression(child)
        if kind is ast.Call and not _on_host(node):
            steps += self._targets(node)
        return steps


def _asks_for_number(test: ast.expr) -> bool:
    """`n > 3`, `x.dim() == 4`: what the caller hands over decides, and not the machine."""
    if not isinstance(test, ast.Compare) or len(test.comparators) != 1:
        return False
    values = [getattr(side, "value", None) for side in (test.left, *test.comparators) if isinstance(side, ast.Constant)]
    return any(value.__class__ in (int, float) for value in values) and not _MACHINE.search(ast.unparse(test))


def _on_host(call: ast.Call) -> bool:
    """`f(x.cpu(), y.cpu())`: the CPU computes it."""
    inner: Iterator[Node] = (n for a in call.args for n in ast.walk(a))
    return any(n.__class__ is ast.Call and getattr(n.func, "attr", "") in COPIES for n in inner)
