"""What a module binds once it has been imported, read from its source with `ast`: nothing is imported or executed.

Follows star imports, `__all__`, `try`/`if` around definitions, aliases, names put into a class from outside, and
instances of classes that answer attributes in `__getattr__` or `__setattr__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from porter.catalog.make.signature import base_names, class_parameters, parameters
from porter.catalog.make.sources import Wheels


@dataclass
class Entry:
    """One name: what kind of thing it is, what it can be called with and, for a class, what it offers."""

    kind: str  # function | class | value | module | foreign
    home: str  # module that defines it; for a module its own name
    parameters: tuple[str, ...] | None = None  # None where no Python source says
    members: dict[str, Entry] = field(default_factory=dict)
    gone: bool = False  # a function that does nothing but raise: removed, its name kept to say so
    name: str = ""  # what its module calls it: "f", "Class.method"


@dataclass
class Module:
    names: dict[str, Entry] = field(default_factory=dict)
    either: set[str] = field(default_factory=set)  # names that branches bind to different things
    exported: list[str] | None = None  # __all__

    def star(self) -> Iterator[str]:
        return iter(self.exported if self.exported is not None else [n for n in self.names if not n.startswith("_")])


class Reader:
    """Reads modules of the wheels, each once."""

    def __init__(self, wheels: Wheels, inherit_from: tuple[str, ...]) -> None:
        self.wheels = wheels
        self._inherit_from = inherit_from
        self._read: dict[str, Module] = {}

    def module(self, name: str) -> Module:
        if name not in self._read:
            self._read[name] = Module()  # first, so that circular imports see what is bound so far
            if tree := self.wheels.parse(name):
                _Body(self, name, self._read[name]).run(tree.body)
        return self._read[name]

    def imported(self, source: str, name: str) -> Entry | None:
        """What `from source import name` gives. Unlike an attribute chain it goes by the module, even where the package
        has bound the module's name to something else: torch_npu.npu.mstx is a module and a class.
        """
        return self.module(source).names.get(name) or self._as_module(f"{source}.{name}")

    def lookup(self, dotted: str) -> Entry | None:
        """The entry behind a chain of attributes, through modules, classes and their members."""
        head, _, name = dotted.rpartition(".")
        if not head:
            return self._as_module(dotted)
        owner = self.lookup(head)
        if owner is None:
            return None
        if owner.kind == "module":
            return self.module(owner.home).names.get(name) or self._as_module(f"{owner.home}.{name}")
        return owner.members.get(name)

    def follows(self, dotted: str) -> bool:
        return any(dotted == p or dotted.startswith(p + ".") for p in self._inherit_from)

    def _as_module(self, name: str) -> Entry | None:
        return Entry("module", name) if name in self.wheels else None


class _Body:
    def __init__(self, reader: Reader, name: str, module: Module) -> None:
        self.reader, self.name, self.module = reader, name, module
        package = reader.wheels.is_package(name)
        self.package = name if package else name.rpartition(".")[0]

    def run(self, body: Iterable[ast.stmt], instead: bool = False) -> None:
        """Statements in order; `instead` for branches that replace another: what that one bound stays."""
        for node in body:
            if handler := getattr(self, f"_{type(node).__name__}", None):
                handler(node, instead)

    def _bind(self, name: str, entry: Entry, instead: bool) -> None:
        if instead and name in self.module.names:
            self.module.either.add(name)
        else:
            self.module.names[name] = entry

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, instead: bool) -> None:
        entry = Entry("function", self.name, parameters(node.args), gone=_gone(node), name=node.name)
        self._bind(node.name, entry, instead)

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef, instead: bool) -> None:
        members: dict[str, Entry] = {}
        given = class_parameters(node)
        for base in (self._value(b) for b in node.bases):
            if base is not None and base.kind == "class" and self.reader.follows(base.home):
                members = {**base.members, **members}
                given = given if given is not None else base.parameters
        members.update(self._members(node))
        self._bind(node.name, Entry("class", self.name, given, members, name=node.name), instead)

    def _members(self, node: ast.ClassDef) -> Iterator[tuple[str, Entry]]:
        for item in node.body:
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                marks = base_names(item.decorator_list)
                if "property" in marks or "classproperty" in marks or any(m.endswith("setter") for m in marks):
                    yield item.name, Entry("value", self.name)
                else:
                    given = parameters(item.args, "staticmethod" not in marks)
                    yield item.name, Entry("function", self.name, given, name=f"{node.name}.{item.name}")
                if item.name in ("__getattr__", "__setattr__"):
                    yield from ((n, Entry("value", self.name)) for n in _compared_names(item))
            elif isinstance(item, (ast.Assign, ast.AnnAssign)):
                for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                    if isinstance(target, ast.Name):
                        yield target.id, Entry("value", self.name)

    def _Assign(self, node: ast.Assign, instead: bool) -> None:
        for target in node.targets:
            for element in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                if isinstance(element, ast.Name) and element.id == "__all__":
                    self.module.exported = list(_strings(node.value))
                elif isinstance(element, ast.Name):
                    entry = (self._value(node.value) if element is target else None) or Entry("value", self.name)
                    if entry.home == self.name:
                        entry.name = entry.name or element.id
                    # not `except: f = None`
                    if not (element.id in self.module.names and getattr(node.value, "value", 0) is None):
                        self._bind(element.id, entry, instead)
                elif isinstance(element, ast.Attribute) and isinstance(element.value, ast.Name):
                    owner = self.module.names.get(element.value.id)
                    if owner is not None and owner.kind == "class":
                        owner.members[element.attr] = self._value(node.value) or Entry("value", self.name)

    def _AnnAssign(self, node: ast.AnnAssign, instead: bool) -> None:
        if isinstance(node.target, ast.Name) and node.target.id == "__all__":
            self.module.exported = list(_strings(node.value)) if node.value else []
        elif isinstance(node.target, ast.Name) and node.value is not None:
            self._bind(node.target.id, self._value(node.value) or Entry("value", self.name), instead)

    def _AugAssign(self, node: ast.AugAssign, instead: bool) -> None:
        if isinstance(node.target, ast.Name) and node.target.id == "__all__":
            self.module.exported = [*(self.module.exported or []), *_strings(node.value)]

    def _Delete(self, node: ast.Delete, instead: bool) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.module.names.pop(target.id, None)

    def _Expr(self, node: ast.Expr, instead: bool) -> None:
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("__all__.extend", "__all__.append") and call.args:
            self.module.exported = [*(self.module.exported or []), *_strings(call.args[0])]

    def _Import(self, node: ast.Import, instead: bool) -> None:
        for alias in node.names:
            target = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bind(alias.asname or target, Entry("foreign", target), instead)

    def _ImportFrom(self, node: ast.ImportFrom, instead: bool) -> None:
        source = self._absolute(node)
        for alias in node.names:
            if alias.name == "*":
                starred = self.reader.module(source)
                for name in starred.star():
                    if name in starred.names:
                        self._bind(name, starred.names[name], instead)
                self.module.either |= starred.either
            else:
                entry = self.reader.imported(source, alias.name) or Entry("foreign", f"{source}.{alias.name}")
                self._bind(alias.asname or alias.name, entry, instead)
                if alias.name in self.reader.module(source).either:
                    self.module.either.add(alias.asname or alias.name)

    def _If(self, node: ast.If, instead: bool) -> None:
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self.run(node.body, instead)
            self.run(node.orelse, True)
        else:
            self.run(node.orelse, instead)

    def _Try(self, node: ast.Try, instead: bool) -> None:
        self.run(node.body, instead)
        for handler in node.handlers:
            self.run(handler.body, True)
        self.run([*node.orelse, *node.finalbody], instead)

    def _With(self, node: ast.With, instead: bool) -> None:
        self.run(node.body, instead)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parent = self.package
        for _ in range(node.level - 1):
            parent = parent.rpartition(".")[0]
        return f"{parent}.{node.module}" if node.module else parent

    def _value(self, node: ast.expr) -> Entry | None:
        """What an expression stands for: the thing an alias names, or the attributes of an instance."""
        if isinstance(node, ast.Call):
            made = self._value(node.func)
            return Entry("value", self.name, None, made.members) if made is not None and made.kind == "class" else None
        if isinstance(node, ast.Name):
            # any import from a submodule also binds the submodule in its package
            return self._followed(self.module.names.get(node.id)) or self.reader.lookup(f"{self.name}.{node.id}")
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            if owner is None:
                return None
            if owner.kind == "module":
                return self.reader.lookup(f"{owner.home}.{node.attr}")
            return owner.members.get(node.attr)
        return None

    def _followed(self, entry: Entry | None) -> Entry | None:
        return self.reader.lookup(entry.home) if entry is not None and entry.kind == "foreign" else entry


def _gone(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    raised = body[0].exc if len(body) == 1 and isinstance(body[0], ast.Raise) else None
    return isinstance(raised, ast.Call) and "removed" in ast.unparse(raised)


def _strings(node: ast.expr) -> Iterator[str]:
    """String constants of a list, a tuple, a sum of them, or a single one."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        yield from (e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from (*_strings(node.left), *_strings(node.right))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _compared_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The attributes that a `__getattr__` or `__setattr__` answers: `if name == "allow_hf32"`."""
    asked = function.args.args[1].arg if len(function.args.args) > 1 else ""
    return [
        c.value
        for node in ast.walk(function)
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == asked
        for c in node.comparators
        if isinstance(c, ast.Constant) and isinstance(c.value, str)
    ]
