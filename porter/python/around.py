"""Answers what stands around a node. A rule sees the LibCST nodes of one statement; the index knows the rest of the file.

A chain is names with dots, such as `torch.cuda.Stream`.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.blocks import place, within
from porter.python.evidence import call_name, given_flags
from porter.python.index import Link, Node, parents

if TYPE_CHECKING:
    from porter.python.file import File


class Around:
    def __init__(self, file: File) -> None:
        self.file: File = weakref.proxy(file)  # weak, because the file holds this object
        self._members: dict[ast.ClassDef, frozenset[str]] = {}

    def _passed_to(self, node: Node) -> tuple[str, int]:
        """("getattr", 0) for `torch.cuda` in `getattr(torch.cuda, name)`; ("", -1) where it is no plain argument."""
        link = self.file.chain(node)
        call: Node = link and link[1] and link[1][0]
        if link is not None and call.__class__ is ast.Call and within(call, link[0], "args"):
            return call_name(call.func), place(call, link[0])[1]
        return "", -1

    def argument(self, node: Node) -> tuple[Link, str | int] | None:
        """The call that gets a chain as an argument, and the keyword or position. The chain may be one side of an `a if b else c`
        that is the argument."""
        link = self.file.chain(node)
        while link is not None and link[1] is not None and link[1][0].__class__ is ast.IfExp:
            if link[0] is link[1][0].test:
                return None
            link = link[1]
        if link is None or (above := link[1]) is None:
            return None
        if above[0].__class__ is ast.keyword:
            return (above[1], above[0].arg or "**") if above[1][0].__class__ is ast.Call else None
        handed = above[0].__class__ is ast.Call and within(above[0], link[0], "args")
        return (above, place(above[0], link[0])[1]) if handed else None

    def assigned(self, node: Node) -> ast.expr | None:
        """The value that a chain is set to, where it is the only target of its statement."""
        link = self.file.chain(node)
        above: Node = link and link[1] and link[1][0]
        if link is not None and above.__class__ is ast.Tuple:
            return self._in_tuple(link)
        assigned = link is not None and above.__class__ is ast.Assign and above.targets == [link[0]]
        return above.value if assigned else None

    @staticmethod
    def _in_tuple(link: Link) -> ast.expr | None:
        """The value of one target of `benchmark, deterministic = True, False`."""
        targets, statement = link[1][0], link[1][1][0]
        if statement.__class__ is not ast.Assign or statement.targets != [targets]:
            return None
        values: Node = statement.value
        matched = values.__class__ is ast.Tuple and len(values.elts) == len(targets.elts)
        return values.elts[place(targets, link[0])[1]] if matched else None

    def is_read(self, node: Node) -> bool:
        link = self.file.chain(node)
        return link is not None and link[0].ctx.__class__ is ast.Load

    def is_set(self, node: Node) -> bool:
        """Whether an attribute is set or deleted: `torch.version.cuda = ...`."""
        link = self.file.chain(node)
        return link is not None and link[0].__class__ is ast.Attribute and link[0].ctx.__class__ is not ast.Load

    def looked_up(self, node: Node, lookups: tuple[str, ...]) -> bool:
        """Whether a chain is the first argument of one of these builtins: `torch.cuda` in `getattr(torch.cuda, "x")`."""
        callee, index = self._passed_to(node)
        if index != 0 or callee not in lookups:
            return False
        link = self.file.chain(node)
        call = link and link[1]
        return (
            call is not None
            and call[0].func.__class__ is ast.Name
            and not self.file.names.bindings(callee, (call[0].func, call))
        )

    def is_within(self, node: Node, callee: str) -> bool:
        """Whether a chain or string stands in the arguments of a call of this name."""
        for above in parents(self.file.chain(node)):
            if above.__class__ is ast.Call and call_name(above.func) == callee:
                return True
        return False

    def is_kept(self, node: Node) -> bool:
        """Whether a string is assigned to a name, or returned, as it is. Where it goes from there does not matter."""
        for above in parents(self.file.chain(node)):
            if above.__class__ in (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.arguments):
                return True
            if above.__class__ not in (ast.IfExp, ast.BoolOp, ast.Tuple, ast.List, ast.Dict):
                return False
        return False

    def positionals(self, node: Node) -> int:
        """How many positional arguments a chain is called with."""
        link = self.file.chain(node)
        call: Node = link and link[1] and link[1][0]
        return len(call.args) if link is not None and call.__class__ is ast.Call and call.func is link[0] else 0

    def is_function(self, node: Node) -> bool:
        """Whether a chain is the function of a call."""
        link = self.file.chain(node)
        call: Node = link and link[1] and link[1][0]
        return link is not None and call.__class__ is ast.Call and call.func is link[0]

    def is_value(self, attribute: Node) -> bool:
        """Whether an attribute is passed on: as an argument, as an element of a list or tuple, by an assignment or a return."""
        link = self.file.receivers.link(self.file.span(attribute)[1])
        if link is None or link[0].ctx.__class__ is not ast.Load:
            return False
        above = link[1][0]
        if above.__class__ is ast.Call:
            return above.func is not link[0] and call_name(above.func) not in ("bool", "print", "str", "int", "repr")
        return above.__class__ in (ast.keyword, ast.List, ast.Tuple, ast.Assign, ast.Return, ast.Lambda)

    def is_statement(self, call: Node) -> bool:
        """Whether a call is a whole statement."""
        link = self.file.chain(call.func)
        return (
            link is not None and link[1] is not None and link[1][1] is not None and link[1][1][0].__class__ is ast.Expr
        )

    def method(self) -> tuple[frozenset[str], list[str]] | None:
        """If the statement that is walked is a method: the names that its class binds, and the method's decorators."""
        link, statement = self.file.scene.link_to(self.file.statement), self.file.statement
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        above: Node = next((n for n in parents(link) if n.__class__ not in (ast.If, ast.Try, ast.With)), None)
        if above.__class__ is not ast.ClassDef:
            return None
        if above not in self._members:
            self._members[above] = frozenset(_bound(above.body))
        return self._members[above], [call_name(getattr(d, "func", d)) for d in statement.decorator_list]

    def options(self, node: Node) -> list[str]:
        """`["-d", "--device"]` for a string somewhere in `add_argument("-d", "--device", default="cuda")`."""
        literal = self.file.literal(node)
        for above in parents(literal.link) if literal else ():
            if above.__class__ is ast.Call:
                if flags := given_flags(above):
                    return [*flags]
        return []

    def member(self, node: Node) -> str | None:
        """`Options` for the chain `dist.ProcessGroupNCCL` in `dist.ProcessGroupNCCL.Options`."""
        link = self.file.chain(node)
        above: Node = link and link[1] and link[1][0]
        return above.attr if above.__class__ is ast.Attribute else None


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """The names that the statements of a class body bind."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, ast.Assign):
            yield from (t.id for t in statement.targets if isinstance(t, ast.Name))
        elif isinstance(statement, (ast.If, ast.Try)):
            yield from _bound([*statement.body, *statement.orelse])
