"""What stands around a node: rules see LibCST nodes of one statement, the index knows the rest of the file."""

from __future__ import annotations

import ast
import re
import weakref
from collections import defaultdict
from functools import cached_property

from porter.python import branches
from porter.python.around_imports import AroundImports
from porter.python.blocks import place, within
from porter.python.evidence import call_name, constant, given_flags
from porter.python.index import Link, parents
from porter.python.mentions import Mentions
from porter.python.ranks import Ranks

_RANK = re.compile(r"(?:^|_)(?:local_?)?rank$", re.IGNORECASE)
_SCRIPT = frozenset(
    f"torch.jit.{name}"
    for name in "script script_method script_if_tracing ScriptModule export ignore unused annotate".split()
)
_INTS = frozenset({"torch.cuda.current_device", "torch.distributed.get_rank", "torch.npu.current_device"})


class Around(AroundImports):
    def __init__(self, file):
        self.file = weakref.proxy(file)  # the file keeps this: see Scene
        self.mentions = Mentions(self.file)
        self.ranks = Ranks(self.file)
        self.known: dict[str, dict] = defaultdict(dict)  # by question: what many places ask is answered once
        self._members: dict[ast.ClassDef, frozenset[str]] = {}

    def _link(self, node) -> Link | None:
        """Of a chain, its whole, where `File.link` gives its first word; of a string, the string."""
        literal = self.file.literal(node)
        if literal is not None:
            return literal.link
        link = self.file.link(node)
        while link is not None and link[1] is not None and link[1][0].__class__ is ast.Attribute:
            if self.file.source.span(link[0])[1] == self.file.span(node)[1]:
                break
            link = link[1]
        return link

    def passed_to(self, node) -> tuple[str, int]:
        """("getattr", 0) for `torch.cuda` in `getattr(torch.cuda, name)`; ("", -1) where it is no plain argument."""
        link = self._link(node)
        call = link and link[1] and link[1][0]
        if call.__class__ is ast.Call and within(call, link[0], "args"):
            return call_name(call.func), place(call, link[0])[1]
        return "", -1

    def argument(self, node) -> tuple[Link, str | int] | None:
        """The call that a chain is an argument of, or one side of a choice that is one, and its keyword or place."""
        link = self._link(node)
        while link is not None and link[1] is not None and link[1][0].__class__ is ast.IfExp:
            if link[0] is link[1][0].test:
                return None
            link = link[1]
        above = link and link[1]
        if above is None:
            return None
        if above[0].__class__ is ast.keyword:
            return (above[1], above[0].arg or "**") if above[1][0].__class__ is ast.Call else None
        handed = above[0].__class__ is ast.Call and within(above[0], link[0], "args")
        return (above, place(above[0], link[0])[1]) if handed else None

    def assigned(self, node) -> ast.expr | None:
        """What a chain is set to, where it is the one target of its statement."""
        link = self._link(node)
        above = link and link[1] and link[1][0]
        return above.value if above.__class__ is ast.Assign and above.targets == [link[0]] else None

    def is_read(self, node) -> bool:
        link = self._link(node)
        return link is not None and link[0].ctx.__class__ is ast.Load

    def is_builtin(self, node) -> bool:
        """A bare name that nothing in sight binds."""
        link = self.file.link(node)
        return (
            link is not None
            and node.value not in self.file.names.imports
            and not self.file.names.bindings(node.value, link)
        )

    def looked_up(self, node, lookups: tuple[str, ...]) -> bool:
        """`torch.cuda` in `getattr(torch.cuda, "x")`, if that is the builtin."""
        callee, at = self.passed_to(node)
        if at != 0 or callee not in lookups:
            return False
        call = self._link(node)[1]
        return call[0].func.__class__ is ast.Name and not self.file.names.bindings(callee, (call[0].func, call))

    def is_within(self, node, callee: str) -> bool:
        """Whether a chain or string stands in the arguments of a call of this name."""
        for above in parents(self._link(node)):
            if above.__class__ is ast.Call and call_name(above.func) == callee:
                return True
        return False

    def is_kept(self, node) -> bool:
        """Whether a string is put under a name, or given back, as it is: where it goes from there is not looked at."""
        for above in parents(self._link(node)):
            if above.__class__ in (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.arguments):
                return True
            if above.__class__ not in (ast.IfExp, ast.BoolOp, ast.Tuple, ast.List, ast.Dict):
                return False
        return False

    def positionals(self, node) -> int:
        """How many positional arguments a chain is called with."""
        link = self._link(node)
        call = link and link[1] and link[1][0]
        return len(call.args) if call.__class__ is ast.Call and call.func is link[0] else 0

    def is_function(self, node) -> bool:
        """Whether a chain is what a call calls."""
        link = self._link(node)
        call = link and link[1] and link[1][0]
        return call.__class__ is ast.Call and call.func is link[0]

    def is_called(self, attribute) -> bool:
        link = self.file.receivers.link(self.file.span(attribute)[1])
        return link is not None and link[1][0].__class__ is ast.Call and link[1][0].func is link[0]

    def is_value(self, attribute) -> bool:
        """An attribute that is handed on: an argument, an element, what a name is bound to or a function returns."""
        link = self.file.receivers.link(self.file.span(attribute)[1])
        if link is None or link[0].ctx.__class__ is not ast.Load:
            return False
        above = link[1][0]
        if above.__class__ is ast.Call:
            return above.func is not link[0] and call_name(above.func) not in ("bool", "print", "str", "int", "repr")
        return above.__class__ in (ast.keyword, ast.List, ast.Tuple, ast.Assign, ast.Return, ast.Lambda)

    def is_statement(self, call) -> bool:
        """Whether a call makes up its statement."""
        link = self._link(call.func)
        return (
            link is not None and link[1] is not None and link[1][1] is not None and link[1][1][0].__class__ is ast.Expr
        )

    def method(self) -> tuple[frozenset[str], list[str]] | None:
        """Of a method's header that is walked, all that its class binds, and its decorators; None of a function."""
        link, statement = self._statement(), self.file.statement
        if statement.__class__ not in (ast.FunctionDef, ast.AsyncFunctionDef):
            return None
        above = next((n for n in parents(link) if n.__class__ not in (ast.If, ast.Try, ast.With)), None)
        if above.__class__ is not ast.ClassDef:
            return None
        if above not in self._members:
            self._members[above] = frozenset(_bound(above.body))
        return self._members[above], [call_name(getattr(d, "func", d)) for d in statement.decorator_list]

    def options(self, node) -> list[str]:
        """`["-d", "--device"]` for a string somewhere in `add_argument("-d", "--device", default="cuda")`."""
        literal = self.file.literal(node)
        for above in parents(literal.link) if literal else ():
            if above.__class__ is ast.Call:
                if flags := given_flags(above):
                    return [*flags]
        return []

    def member(self, node) -> str | None:
        """`Options` for the chain `dist.ProcessGroupNCCL` in `dist.ProcessGroupNCCL.Options`."""
        link = self._link(node)
        above = link and link[1] and link[1][0]
        return above.attr if above.__class__ is ast.Attribute else None

    def is_fallback(self, node) -> bool:
        """Whether a chain stands in an `except` block: what runs where the call of a newer torch failed."""
        return any(above.__class__ is ast.ExceptHandler for above in parents(self.file.link(node)))

    def made_by(self, node) -> str | None:
        """`torch.cuda.get_device_properties` for a name that only calls of it bind."""
        link = self.file.link(node) if type(node).__name__ == "Name" else None
        bound = self.file.names.bindings(node.value, link) if link else []
        found = self.file.names.once("made by", bound, lambda: {*map(self._maker, bound)})
        return next(iter(found)) if len(found) == 1 else None

    def _maker(self, at: Link) -> str | None:
        above = at[1] and at[1][0]
        value = above.value if above.__class__ in (ast.Assign, ast.NamedExpr) and at[0] is not above.value else None
        return self.file.names.resolve(value.func, at) if value.__class__ is ast.Call else None

    def local_rank(self, node) -> str | None:
        """How the rank of this process on its machine is spelled at a place, if it is in sight there."""
        return self.ranks.local_rank(self.file.link(node))

    def module_name(self, node, module: str) -> str | None:
        """What a module is called at a place; None where it is not imported under one name."""
        return self.ranks.module(self.file.link(node), module)

    def dtype(self, node) -> str | None:
        """`float64` for a name that is given `torch.tensor(..., dtype=torch.float64)` or `x.double()`."""
        link = self._link(node) if type(node).__name__ == "Name" else None
        bound = self.file.names.bindings(link[0].id, link) if link else []
        return self.file.names.once("dtype", bound, lambda: self._dtype(bound))

    def _dtype(self, bindings: list[Link]) -> str | None:
        for at in bindings:
            above = at[1] and at[1][0]
            call = above.value if above.__class__ is ast.Assign and within(above, at[0], "targets") else None
            if call.__class__ is not ast.Call:
                continue
            moved = call.args if call_name(call.func) in ("to", "type") else ()
            given = [*moved, *(k.value for k in call.keywords if k.arg == "dtype")]
            full = next(
                (f for f in (self.file.names.resolve(g, at) for g in given) if f and f.startswith("torch.")), None
            )
            if full or call_name(call.func) == "double":
                return full.rpartition(".")[2] if full else "double"
        return None

    def asked_for(self, node) -> str | None:
        """Of `torch.cuda.is_available`, the other library for whose use of CUDA it is asked."""
        return branches.asked_for(self.file, self._link(node))

    def capability(self, node) -> str | None:
        """How a chain depends on a compute capability: "field" of the answer itself, "capability" in one condition."""
        return branches.capability(self._link(node))

    def is_scripted(self) -> bool:
        """Whether the file speaks of TorchScript, which knows PyTorch's own names only."""
        return bool(self.mentions.of(_SCRIPT))

    def kernel(self, node) -> str | None:
        """Of `x.is_cuda` or `device.type == "cuda"`, the CUDA kernel that is called where it is so."""
        literal = self.file.literal(node)
        link = literal.link if literal else self.file.receivers.link(self.file.span(node)[1])
        return branches.kernel(self.file, link) or branches.compiled(self.file)

    # ---- integers

    def int_kind(self, node) -> str:
        """Whether an expression is an int: 'known' by what binds it, 'likely' by its name, '' otherwise."""
        kind = type(node).__name__
        if kind == "Integer":
            return "known"
        if kind == "Call":
            name = self.file.name(node.func)
            plain = type(node.func).__name__ == "Name" and node.func.value == "int" and not self.file.names.bound("int")
            return "known" if plain or name in _INTS else ""
        link = self._link(node) if kind in ("Name", "Attribute") else None
        if link is None:
            return ""
        last = link[0].attr if kind == "Attribute" else link[0].id
        known = last in self._int_options if kind == "Attribute" else self._name_is_int(link)
        return "known" if known else "likely" if _RANK.search(last) else ""

    def _name_is_int(self, link: Link) -> bool:
        bindings = self.file.names.bindings(link[0].id, link)
        return bool(bindings) and self.file.names.once("int", bindings, lambda: all(map(self._binds_int, bindings)))

    def _binds_int(self, at: Link) -> bool:
        node, above = at[0], at[1] and at[1][0]
        if node.__class__ is ast.arg:
            return getattr(node.annotation, "id", "") == "int"
        if above.__class__ is ast.Assign and within(above, node, "targets"):
            return self._is_int(above.value, at)
        if above.__class__ is ast.AnnAssign:
            return getattr(above.annotation, "id", "") == "int"
        return (
            above.__class__ is ast.For
            and node is above.target
            and call_name(getattr(above.iter, "func", node)) == "range"
        )

    def _is_int(self, value: ast.AST, link: Link) -> bool:
        if value.__class__ is ast.Call:
            return getattr(value.func, "id", "") == "int" or self.file.names.resolve(value.func, link) in _INTS
        return type(constant(value)) is int

    @cached_property
    def _int_options(self) -> frozenset[str]:
        """`local_rank` for `add_argument("--local-rank", type=int, default=0)`, where the first that says so counts."""
        found: dict[str, bool] = {}
        for link in self.file.buckets[ast.Call]:
            call = link[0]
            if call_name(call.func) == "add_argument" and call.args:
                given = {k.arg: k.value for k in call.keywords}
                if getattr(given.get("type"), "id", "") == "int":
                    for a in call.args:
                        name = str(constant(a)).lstrip("-").replace("-", "_")
                        found.setdefault(name, type(constant(given.get("default"))) is int)
        return frozenset(name for name, plain in found.items() if plain)


def _bound(body: list[ast.stmt]):
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, ast.Assign):
            yield from (t.id for t in statement.targets if t.__class__ is ast.Name)
        elif isinstance(statement, (ast.If, ast.Try)):
            yield from _bound([*statement.body, *statement.orelse])
