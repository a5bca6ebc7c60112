"""One module of a library, read once: the steps of every function in it.

A key is `module:qualified.name`; `module:` stands for what an import of the module runs. A step is the key of what is
called, an End, or a choice (body.py). `fact_file.py` makes one Reading for each module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.analysis.python import Analysis
from porter.native.builders import loaded
from porter.native.python_to_kernels import mentions
from porter.native.uses import uses
from porter.python.index import Node
from porter.reach.body import Body, End, Steps
from porter.reach.compiled import Natives
from porter.reach.endings import Ends
from porter.reach.library import APPLY, CLASS, FUNCTION, NATIVE, OBJECT, Library, Symbol

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MADE = {"module": ("__init__", "forward"), "optimizer": ("__init__", "step")}
_BUILT_IN = frozenset(["aten", "prims", "prim", "c10d", "_c10d_functional", "inductor", "quantized", "profiler", "npu"])


class Reading:
    def __init__(self, module: str, analysis: Analysis, library: Library, natives: Natives):
        self.module, self.library, self.natives, self.file = module, library, natives, analysis.file
        self._links = {id(link[0]): link for link in self.file.names.uses}
        self._ends = Ends(analysis, library.package.name)
        self._built = dict(self._loaded())
        self._around: list[Node] = []  # functions and classes around what is read right now
        self.steps: dict[str, Steps] = {}
        self._twice: set[str] = set()

    def read(self) -> dict[str, Steps]:
        body = Body(self._targets, self._ends.of, self._imports)
        self.steps[f"{self.module}:"] = body.block(self.file.tree.body)
        self._definitions(self.file.tree.body, body, "")
        for key in self._twice:
            self.steps[key] = []  # which of them is meant, nobody knows
        return self.steps

    def _definitions(self, statements: list[ast.stmt], body: Body, prefix: str) -> None:
        node: Node
        for node in _statements(statements):
            name = prefix + getattr(node, "name", "")
            key = f"{self.module}:{name}"
            self._around.append(node)
            if node.__class__ in _DEFS and not _is_stub(node):
                if key in self.steps:
                    self._twice.add(key)
                triton = any(
                    ast.unparse(d).startswith(("triton.jit", "jit")) and self._is_triton(d) for d in node.decorator_list
                )
                self.steps[key] = [End("triton", name, node.lineno)] if triton else body.block(node.body)
                self._definitions(node.body, body, f"{name}.<locals>.")
            elif node.__class__ is ast.ClassDef:
                self._definitions(node.body, body, f"{name}.")
                if not prefix:
                    self.steps[key] = list(self._constructors(Symbol(CLASS, self.module, name)))
            self._around.pop()

    def _constructors(self, owner: Symbol) -> Iterator[str]:
        """What happens to whoever makes an object of a class."""
        kinds = self.library.kinds(owner)
        names = next((names for kind, names in _MADE.items() if kind in kinds), ("__init__",))
        for name in (*names, "__new__", "__post_init__"):
            if method := self.library.member(owner, name):
                yield method.key

    def _is_triton(self, node: Node) -> bool:
        name = self._name(node.func if node.__class__ is ast.Call else node) or ""
        return name in ("triton.jit", "triton.runtime.jit.jit")

    # ---- what the nodes mean

    def _imports(self, node: Node) -> Steps:
        """An import runs the modules that it names, where the library has them."""
        if node.__class__ is ast.Import:
            names = [alias.name for alias in node.names]
        else:
            base = self.library.absolute("." * node.level + (node.module or ""), self.module).rstrip(".")
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        steps: Steps = [f"{name}:" for name in names if name in self.library.package and name != self.module]
        for name in names:
            if name not in self.library.package and self.natives.is_native(name):
                steps.append(End("kernel", name, node.lineno))
        return steps

    def _targets(self, call: ast.Call) -> Steps:
        func: Node = call.func
        line = call.lineno
        if builder := loaded(call, self.natives.builders):
            return [End("kernel", f"{builder}.load", line)]
        if func.__class__ is ast.Attribute and (ends := self._built.get(id(_root(func)))):
            return [End("kernel", ends, line)]
        if func.__class__ is ast.Subscript:  # kernel[grid](...)
            kernel = self._symbol(func.value)
            return [kernel.key] if kernel and kernel.kind == FUNCTION else []
        name = self._name(func) or ""
        if end := self._ends.called(name, line):
            return [end]
        if name.startswith("torch.ops."):
            space, _, operator = name[10:].partition(".")
            operator = operator.partition(".")[0]
            known = space in _BUILT_IN or f"{space}.{operator}" in self.library.package.registered
            gpu = bool(operator) and not known and self.natives.operator_cuda_only(space, operator)
            return [End("kernel", f"torch.ops.{space}.{operator}", line)] if gpu else []
        symbol = self._symbol(func)
        if symbol is None:
            return []
        if symbol.kind == NATIVE:
            gpu = bool(symbol.name) and self.natives.cuda_only(symbol.name.rpartition(".")[2], symbol.module)
            return [End("kernel", f"{symbol.module}.{symbol.name}", line)] if gpu else []
        if symbol.kind == APPLY:
            owner = Symbol(CLASS, symbol.module, symbol.name)
            members = (self.library.member(owner, name) for name in ("forward", "backward"))
            return [member.key for member in members if member]
        return [symbol.key] if symbol.kind in (FUNCTION, CLASS) else []

    def _loaded(self) -> Iterator[tuple[int, str]]:
        """By the name that an expression starts with, the compiled function of what a builder loads."""
        builders, tree = self.natives.builders, self.file.tree
        if builders and mentions(self.file.source.utf8, builders):
            for node, builder, name in uses(tree, builders):
                yield id(node), f"{builder}.{name}"

    def _name(self, node: Node) -> str | None:
        """The full name of a chain that starts with an import."""
        root = _root(node)
        link = self._links.get(id(root))
        if (
            link is None
            or root.id in self.file.names.others
            and root.id in self.file.names.imports
            and self._either(root.id)
        ):
            return None
        full_name = self.file.names.resolve(node, link)
        return full_name and self.library.absolute(full_name, self.module)

    def _either(self, name: str) -> bool:
        """Whether something else than an import gives a name a meaning, other than none."""
        for link in self.file.names.others[name]:
            value: Any = getattr(link[1] and link[1][0], "value", 0)
            if not (value.__class__ is ast.Constant and value.value is None):
                return True
        return False

    def _symbol(self, node: Node) -> Symbol | None:
        if name := self._name(node):
            root = name.partition(".")[0]
            if root != self.library.package.name and self.natives.is_native(root):
                return Symbol(NATIVE, root, name.partition(".")[2])
            return self.library.find(name)
        if node.__class__ is ast.Name:
            return self._local(node)
        if node.__class__ is not ast.Attribute:
            return None
        if owner := self._owner(node.value):
            return self.library.member(owner, node.attr)
        return None

    def _owner(self, node: Node) -> Symbol | None:
        """What `x` of `x.method` is."""
        owner = next((n for n in reversed(self._around) if n.__class__ is ast.ClassDef), None)
        own_class = Symbol(CLASS, self.module, owner.name) if owner else None
        if node.__class__ is ast.Name and node.id in ("self", "cls"):
            return own_class
        if node.__class__ is ast.Call and getattr(node.func, "id", "") == "super" and own_class:
            return next((base for base in self.library.bases(own_class) if isinstance(base, Symbol)), None)
        if node.__class__ is ast.Attribute and getattr(node.value, "id", "") == "self" and owner:
            return self._attribute(owner, node.attr)
        if node.__class__ is ast.Call:
            symbol = self._symbol(node.func)
            return Symbol(OBJECT, symbol.module, symbol.name) if symbol and symbol.kind == CLASS else None
        return self._symbol(node)

    def _attribute(self, owner: ast.ClassDef, name: str) -> Symbol | None:
        """What `self.name` holds, where one place alone of the class sets it, to an object. Only plain `=` counts."""
        values = [
            n.value
            for n in ast.walk(owner)
            if isinstance(n, ast.Assign)
            for t in n.targets
            if isinstance(t, ast.Attribute) and t.attr == name and getattr(t.value, "id", "") == "self"
        ]
        return self._owner(values[0]) if len(values) == 1 and values[0].__class__ is ast.Call else None

    def _local(self, node: ast.Name) -> Symbol | None:
        link = self._links.get(id(node))
        bound = self.file.names.bindings(node.id, link) if link else []
        if not bound:
            return None
        home = self.file.names.scopes.home(node.id, bound[0])
        if home is None:
            return self.library.find(f"{self.module}.{node.id}")
        if len(bound) != 1:
            return None
        inner = [s for s in getattr(home, "body", ()) if s.__class__ in _DEFS and s.name == node.id]
        if inner and home in self._around:
            names = [n.name for n in self._around[: self._around.index(home) + 1]]
            return Symbol(FUNCTION, self.module, _qualified(self._around, names, node.id))
        above = bound[0][1] and bound[0][1][0]
        if above.__class__ is ast.Assign and above.targets == [bound[0][0]] and above.value.__class__ is ast.Call:
            made = self._symbol(above.value.func)
            return Symbol(OBJECT, made.module, made.name) if made and made.kind == CLASS else None
        return None


def _root(node: Node) -> Node:
    while node.__class__ is ast.Attribute:
        node = node.value
    return node


def _qualified(around: list[Node], names: list[str], function_name: str) -> str:
    text = ""
    for node, name in zip(around, names):
        text += name + (".<locals>." if node.__class__ in _DEFS else ".")
    return text + function_name


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Definitions, also those in the branches of a block."""
    for node in body:
        if node.__class__ in (*_DEFS, ast.ClassDef):
            yield node
        else:
            for name in ("body", "orelse", "finalbody"):
                inner: Any = getattr(node, name, None)
                if inner.__class__ is list:
                    yield from _statements(inner)
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)


def _is_stub(node: Node) -> bool:
    """`@overload`, the setter of a property."""
    return any(
        ast.unparse(d).rpartition(".")[2] in ("overload", "setter", "register", "register_fake")
        for d in node.decorator_list
    )
