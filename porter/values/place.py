"""Finds the place where one operator can replace a computation, and the statements above it that can then be removed."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

from porter.finding import Change
from porter.python.comments import on_lines
from porter.python.index import Node, walk
from porter.values.patterns import Match
from porter.values.value import Value
from porter.values.values import Body

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.python.source import Source

# operations that cost nothing if they stay
_FREE = frozenset({"leaf", "const", "attribute", "item", "tuple", "parts", "opaque", "FloorDiv"})
_Homes: TypeAlias = "dict[Node, list[Node]]"  # the block of each statement of a function
_SIMPLE = (ast.Assign, ast.Return, ast.Expr, ast.AugAssign, ast.AnnAssign)


def place_for(file: RuleFile, match: Match) -> Place | None:
    """The place of a match; None where its computation is not one expression of a simple statement."""
    body, root = match.body, match.root
    expression = _expression(body, root) if body is not None and root is not None else None
    if body is None or root is None or expression is None:
        return None
    homes = _homes(body.function)
    home = _home(homes, expression)
    return Place(file, match, body, root, expression, homes, *home) if home is not None else None


def _expression(body: Body, root: Value) -> Node:
    """The only expression of the function that computes the root; None for a call of another function that does."""
    expressions = [n for n, v in body.at.items() if v is root and n.__class__ not in (ast.Name, ast.Attribute)]
    return expressions[0] if len(expressions) == 1 and expressions[0] is root.node else None


def _homes(function: Node) -> _Homes:
    homes: _Homes = {}
    for node in walk(function):
        for field in ("body", "orelse", "finalbody"):
            block: Node = getattr(node, field, None)
            if block.__class__ is list:
                homes.update((s, block) for s in block if isinstance(s, ast.stmt))
    return homes


def _home(homes: _Homes, node: Node) -> tuple[list[Node], Node] | None:
    """(block, statement) of the simple statement around an expression."""
    for statement, block in homes.items():
        if statement.__class__ in _SIMPLE and any(n is node for n in walk(statement)):
            return block, statement
    return None


class Place:
    """The place of an operator in its function."""

    def __init__(
        self,
        file: RuleFile,
        match: Match,
        body: Body,
        root: Value,
        expression: Node,
        homes: _Homes,
        block: list[Node],
        statement: Node,
    ) -> None:
        self.source = cast("Source", file.source)  # rules see only a part of it
        self.match, self.body, self.root = match, body, root
        self.expression, self._homes, self.block, self.statement = expression, homes, block, statement

    @cached_property
    def inside(self) -> set[Value]:
        """The values between the operands and the root."""
        stop = _operands(self.root) if self.match.kind == "attention" else set(self.match.parts.values())
        values: set[Value] = set()
        stack = [self.root]
        while stack:
            value = stack.pop()
            if value not in values and value not in stop:
                values.add(value)
                stack += value.args
        return values

    @cached_property
    def removed(self) -> list[Node]:
        """The statements above that can be removed, as nothing else reads the names that they bind."""
        removed: list[Node] = []
        above = self.block[: self.block.index(self.statement)]
        for statement in reversed(above):
            names = _targets(statement)
            if names and self._makes_inside(statement) and not any(self._read(n, statement, removed) for n in names):
                removed.append(statement)
        return removed

    def _makes_inside(self, statement: Node) -> bool:
        value = self.body.at.get(statement.value)
        if value is None or value.op == "leaf":
            return False
        parts = value.args if value.op == "tuple" else (value,)
        halved = value.op in ("parts", "unbound") and value.args[0] in self.inside | set(self.match.parts.values())
        return halved or all(p in self.inside for p in parts)

    def _read(self, name: str, by: Node, removed: list[Node]) -> bool:
        """Whether code that stays reads the name that the statement `by` binds."""
        index = self.block.index(by)
        for statement in self.block[index + 1 :]:
            rebinds = statement.__class__ is ast.Assign and name in _targets(statement)
            if statement not in removed:
                for node in walk(statement):
                    if node.__class__ is ast.Name and node.id == name and node.ctx.__class__ is not ast.Store:
                        if not self._within(node, statement):
                            return True
            if rebinds or statement.__class__ is ast.Return:
                return False
        return self.block is not self.body.function.body

    def _within(self, node: Node, statement: Node) -> bool:
        return statement is self.statement and any(n is node for n in walk(self.expression))

    @cached_property
    def settled(self) -> bool:
        """Whether all of the computation is removed, and no comment with it."""
        gone = {n for s in (*self.removed, self.expression) for n in walk(s)}
        if any(
            v in self.inside and v.op not in _FREE and n not in gone and n.__class__ is not ast.Name
            for n, v in self.body.at.items()
        ):
            return False
        return not any(on_lines(self.source, n.lineno, n.end_lineno - 1) for n in (*self.removed, self.expression))

    @cached_property
    def names(self) -> Mapping[str, Value | None]:
        """The values of names at the place, once the statements above are removed."""
        before, index = self.body.before, self.block.index(self.statement)
        if not self.removed:
            return before[self.statement]
        first = self.block.index(self.removed[-1])
        names: dict[str, Value | None] = {**before[self.block[first]]}
        for statement, following in zip(self.block[first:index], self.block[first + 1 :]):
            if statement not in self.removed:
                for node in walk(statement):
                    if node.__class__ is ast.Name and node.ctx.__class__ is ast.Store:
                        names[node.id] = before[following].get(node.id)
        return names

    def spell(self, value: Value | None) -> str | None:
        """An expression that has this value at the place; None where there is none."""
        if value is None:
            return None
        if value.op == "leaf" and value.info[0] == "attribute":
            return f"self.{value.info[1]}"
        if value.op == "const":
            return repr(value.info)
        held = sorted(name for name, v in self.names.items() if v is value and "." not in name)
        if held:
            used = {n.id for n in walk(self.expression) if n.__class__ is ast.Name}
            return next((n for n in held if n in used), held[0])
        if value.node in self.body.at and isinstance(value.node, ast.expr):
            home: Node = (_home(self._homes, value.node) or (None, None))[1]
            if home is self.statement or home in self.removed:
                loads = {n.id for n in walk(value.node) if n.__class__ is ast.Name}
                before = self.body.before[home]
                if all(self.names.get(name) is before.get(name) for name in loads):
                    start, end = self.source.span(value.node)
                    text = self.source.utf8[start:end].decode()
                    return text if "\n" not in text and "\r" not in text else None
        return None

    def edits(self, new: str) -> tuple[Change, ...]:
        """The edits that write `new` in place of the computation."""
        start, end = self.source.span(self.expression)
        return tuple(sorted([Change(start, end, new.encode()), *map(self._removal, self.removed)]))

    def _removal(self, statement: Node) -> Change:
        """The edit that removes a statement: with its lines, if it is alone in them; a comment behind it stays."""
        source = self.source
        start, end = source.span(statement)
        before, behind = source.line_end(end)
        begin = source.starts[source.line(start) - 1]
        alone = not source.utf8[begin:start].strip() and not source.utf8[end:before].strip()
        if alone:
            return Change(begin, behind, b"")
        rest = source.utf8[end:before]
        return Change(start, end + len(rest) - len(rest.lstrip(b" \t;")), b"")


def _targets(statement: Node) -> list[str]:
    """The names that an assignment binds; [] where it also binds anything else."""
    if statement.__class__ is not ast.Assign or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    parts = target.elts if target.__class__ in (ast.Tuple, ast.List) else [target]
    return [p.id for p in parts] if all(p.__class__ is ast.Name for p in parts) else []


def _operands(root: Value) -> set[Value]:
    """The operands of attention: the three tensors and the mask. Values between them and the root are removed."""
    operands, stack = {root.args[1]} if root.op == "matmul" else set[Value](), [root.args[0]]
    known: set[Value] = set()
    while stack:
        value = stack.pop()
        if value in known:
            continue
        known.add(value)
        if value.op == "matmul":
            operands.add(value.args[0])
            key = value.args[1]
            operands.add(key.args[0] if key.op == "transpose" else key)
        elif value.op == "masked_fill":
            mask = value.args[1]
            stack.append(value.args[0])
            operands.add(mask.args[0] if mask.op == "not" else mask)
        else:
            stack += value.args
    return operands
