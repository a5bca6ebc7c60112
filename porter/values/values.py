"""Computes the values of the expressions of one function. A value is an operation with operands, whatever names hold it.

A function is read once, from top to bottom. A name has one value, or a choice of values where branches join, or an unknown one
where a loop may have changed it. Functions of the file, and methods of the class, are entered for their results. Only functions
that a rule asks for are read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from porter.python.index import Node, walk
from porter.python.parameters import dotted, parameters
from porter.python.walks import children
from porter.values.traces import Traces
from porter.values.value import Value

if TYPE_CHECKING:
    from porter.values.world import Operations, Owner

_DEEPEST = 2  # levels of called functions that are entered
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul"}


class Body:
    """The values of one function."""

    def __init__(self, function: Node, owner: Owner, world: Operations[Body]) -> None:
        self.function, self.owner, self.world = function, owner, world
        self.at: dict[ast.AST, Value] = {}  # the value of each expression of the function itself
        self.made: list[Value] = []  # all values, in the order in which they are computed
        self.returned: list[Value] = []
        self.before: dict[ast.stmt, dict[str, Value]] = {}  # the values of names before each statement
        self.traces = Traces()
        self._by_key: dict[tuple[object, ...], Value] = {}
        self._inside: list[Node] = [function]
        self.env: dict[str, Value] = {}
        for name in parameters(function):
            self.env[name] = self.make("leaf", (), ("parameter", name), function)
        self._block(function.body if function.__class__ in _DEFS else [])

    def make(self, op: str, args: tuple[Value, ...], info: Any = None, node: Node = None) -> Value:
        key = (op, info.__class__, info, *map(id, args))
        value = self._by_key.get(key)
        if value is None:
            value = self._by_key[key] = Value(op, args, info, node)
            self.made.append(value)
        return value

    def opaque(self, node: Node) -> Value:
        if self.world.traces and node.__class__ is ast.Dict:
            self.traces.handed += [self.value(v) for v in node.values]
        elif self.world.traces and node.__class__ is ast.JoinedStr:  # a value that is only printed goes nowhere
            [self.value(v.value) for v in node.values if v.__class__ is ast.FormattedValue]
        elif self.world.traces:
            names = (n.id for n in walk(node) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Load)
            self.traces.handed += [self.env[name] for name in names if name in self.env]
        return self.make("opaque", (), id(node), node)

    # ---- statements

    def _block(self, body: list[ast.stmt]) -> bool:
        """Reads a block. Whether its end is reached; an `if` that leaves by both branches counts as reached."""
        return all(not self._statement(statement) for statement in body)

    def _statement(self, node: ast.stmt) -> bool:
        """Reads a statement by the handler for its class: `_if` for ast.If. Whether it leaves the block.

        Without a handler, only the expressions of a statement are read, and its blocks are skipped.
        """
        if self.world.remembers and len(self._inside) == 1:
            self.before[node] = dict(self.env)
        handler = getattr(self, f"_{node.__class__.__name__.lower()}", None)
        if handler is not None:
            handler(node)
        else:
            for child in children(node):
                if isinstance(child, ast.expr):
                    self.value(child)
        return node.__class__ in _LEAVES

    def _assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._bind(target, value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, self.value(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        old, new, op = self.value(node.target), self.value(node.value), _BINARY.get(node.op.__class__)
        self._bind(node.target, self.world.binary(self, op, old, new, node) if op else self.opaque(node))

    def _bind(self, target: Node, value: Value) -> None:
        kind = target.__class__
        if kind is ast.Name:
            self.env[target.id] = value
        elif kind in (ast.Tuple, ast.List):
            for index, part in enumerate(target.elts):
                if part.__class__ is ast.Starred:
                    self._bind(part.value, self.opaque(part))
                else:
                    self._bind(part, self.world.part(self, value, index, len(target.elts), target))
        elif kind is ast.Subscript:  # a tensor with new elements is another value
            self.value(target if self.world.traces else target.slice)
            self.traces.stored.append(value)
            while target.__class__ is ast.Subscript:
                target = target.value
            old = self.at.get(target) if self.world.traces else None
            self._bind(target, self.make("written", (old,), id(target), target) if old else self.opaque(target))
        elif kind is ast.Attribute and (name := dotted(target)):
            self.env[name] = value
            self.traces.handed.append(value)

    def _return(self, node: ast.Return) -> None:
        self.returned.append(self.value(node.value) if node.value is not None else self.make("const", (), None, node))

    def _expr(self, node: ast.Expr) -> None:
        call: Node = node.value
        value = self.value(call)
        if call.__class__ is ast.Call and call.func.__class__ is ast.Attribute and call.func.attr.endswith("_"):
            if call.func.value.__class__ is ast.Name and not call.func.attr.startswith("_"):
                self._bind(call.func.value, value)

    def _if(self, node: ast.If) -> None:
        self.value(node.test)
        first, ends_first = self._branch(node.body)
        second, ends_second = self._branch(node.orelse)
        self.env = first if ends_second else second if ends_first else self._join(first, second, node)

    def _branch(self, body: list[ast.stmt]) -> tuple[dict[str, Value], bool]:
        old = self.env
        self.env = dict(old)
        ends = not self._block(body)
        new, self.env = self.env, old
        return new, ends

    def _join(self, first: dict[str, Value], second: dict[str, Value], node: Node) -> dict[str, Value]:
        joined: dict[str, Value] = {}
        for name in {**first, **second}:
            a, b = first.get(name), second.get(name)
            if a is not None and b is not None:
                joined[name] = a if a is b else self.choice((a, b), node)
            elif "." not in name:  # an attribute that one branch sets is not known: the other keeps the old one
                joined[name] = a if a is not None else second[name]
        return joined

    def choice(self, values: tuple[Value, ...], node: Node) -> Value:
        flat = dict.fromkeys(v for value in values for v in (value.args if value.op == "choice" else (value,)))
        return values[0] if len(flat) == 1 else self.make("choice", tuple(flat), None, node)

    def _loop(self, node: Node) -> None:
        if hasattr(node, "iter"):
            self.traces.handed.append(self.value(node.iter))
        changed = {n.id for n in walk(node) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
        for name in sorted(changed):
            self.env[name] = self.make("opaque", (), (id(node), name), node)
        if hasattr(node, "test"):
            self.value(node.test)
        inner, _ = self._branch(node.body)
        self.env = self._join(self.env, inner, node)
        self._block(node.orelse)

    _for = _asyncfor = _while = _loop

    def _with(self, node: Node) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, value)
        self._block(node.body)

    _asyncwith = _with

    def _try(self, node: Node) -> None:
        start = self.env
        done, _ = self._branch([*node.body, *node.orelse])
        for handler in node.handlers:
            self.env = start
            other, ends = self._branch(handler.body)
            done = done if ends else self._join(done, other, node)
        self.env = done
        self._block(node.finalbody)

    _trystar = _try

    def _functiondef(self, node: Node) -> None:
        self.env[node.name] = self.opaque(node)

    _asyncfunctiondef = _classdef = _functiondef

    def _import(self, node: Node) -> None:
        """Does nothing: imported names are resolved by the table of the file."""

    _importfrom = _global = _nonlocal = _import

    # ---- expressions

    def value(self, node: ast.expr) -> Value:
        handler = _EXPRESSIONS.get(node.__class__)
        value = handler(self, node) if handler else self.opaque(node)
        if len(self._inside) == 1:
            self.at[node] = value
        return value

    def _constant(self, node: ast.Constant) -> Value:
        return self.make("const", (), node.value, node)

    def _name(self, node: ast.Name) -> Value:
        return self.env.get(node.id) or self.make("leaf", (), ("name", node.id), node)

    def _attribute(self, node: ast.Attribute) -> Value:
        chain = dotted(node)
        if chain and chain in self.env:
            return self.env[chain]
        if chain and chain.partition(".")[0] not in self.env and (full := self.world.resolve(chain)):
            return self.make("leaf", (), ("name", full), node)
        return self.world.attribute(self, self.value(node.value), node)

    def _binop(self, node: ast.BinOp) -> Value:
        left, right, op = self.value(node.left), self.value(node.right), _BINARY.get(node.op.__class__)
        return self.world.binary(self, op, left, right, node) if op else self.make(
            node.op.__class__.__name__, (left, right), None, node
        )  # fmt: skip

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        inner, kind = self.value(node.operand), node.op.__class__
        if kind is ast.USub:
            number = inner.op == "const" and isinstance(inner.info, (int, float))
            return self.make("const", (), -inner.info, node) if number else self.make("neg", (inner,), None, node)
        return self.make("not" if kind in (ast.Not, ast.Invert) else kind.__name__, (inner,), None, node)

    def _compare(self, node: ast.Compare) -> Value:
        sides = (self.value(node.left), *map(self.value, node.comparators))
        return self.make("compare", sides, tuple(op.__class__.__name__ for op in node.ops), node)

    def _boolop(self, node: ast.BoolOp) -> Value:
        return self.make("bool", tuple(map(self.value, node.values)), node.op.__class__.__name__, node)

    def _ifexp(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        return self.choice((self.value(node.body), self.value(node.orelse)), node)

    def _sequence(self, node: Node) -> Value:
        return self.make("tuple", tuple(map(self.value, node.elts)), None, node)

    def _starred(self, node: ast.Starred) -> Value:
        self.value(node.value)
        return self.opaque(node)

    def _namedexpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self._bind(node.target, value)
        return value

    def _subscript(self, node: ast.Subscript) -> Value:
        return self.world.subscript(self, self.value(node.value), node)

    def _call(self, node: ast.Call) -> Value:
        return self.world.call(self, node)

    def enter(self, function: Node, given: dict[str, Value]) -> Value | None:
        """The result of a function of this file that is called with these values."""
        if len(self._inside) > _DEEPEST or function in self._inside:
            return None
        env, returned = self.env, self.returned
        attributes = {name: value for name, value in env.items() if "." in name} if "self" in given else {}
        self.env, self.returned = {**attributes, **given}, []
        self._inside.append(function)
        self._block(function.body)
        self._inside.pop()
        result = self.choice(tuple(self.returned), function) if self.returned else None
        self.env, self.returned = env, returned
        return result

    def within(self, function: ast.Lambda, given: Value) -> Value:
        """The result of a lambda with one parameter."""
        if function in self._inside:
            return self.opaque(function)
        env, self.env = self.env, {**self.env, function.args.args[0].arg: given}
        self._inside.append(function)
        result = self.value(function.body)
        self._inside.pop()
        self.env = env
        return result


_EXPRESSIONS: dict[type, Callable[[Body, Node], Value]] = {
    getattr(ast, name): getattr(Body, f"_{name.lower()}")
    for name in "Constant Name Attribute BinOp UnaryOp Compare BoolOp IfExp Starred NamedExpr Subscript Call".split()
} | {ast.Tuple: Body._sequence, ast.List: Body._sequence}
