"""Which operators an API runs: the binding its module gives it, or what the body of its Python function calls.

Certain means: every call in the body is a known operator, another such function, or one that computes nothing. An API
with a call of any other kind has no entry. Arithmetic signs between tensors are not counted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from porter.catalog.make.harmless import computes_nothing, moves
from porter.catalog.make.sources import Wheel

_SPACES = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}
_BOUND = ("torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special", "torch._C._VariableFunctions")
_FUNCTIONS = ("torch.functional", "torch.nn.functional", "torch._tensor")


def behind(torch: Wheel, aten: dict[str, dict[str, str]], aliases: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The keys `apis` and `steps` of the section operators, as porter.catalog.read.tables describes them."""
    reader = _Bodies(torch, aten)
    apis: dict[str, dict[str, str | None]] = {}
    names: dict[str, str | None]
    for module, variant, written in (("torch", "f", "torch.functional"), ("torch.Tensor", "m", "torch._tensor.Tensor")):
        names = {n: "" for n, overloads in aten.items() if n[0] != "_" and reader.called(n, variant)}
        apis[module] = names | reader.written(written, names)
    for module in ("torch.nn.functional", *_SPACES):
        apis[module] = reader.written(module, {})
    apis["torch.nn"] = reader.forwards()
    for module, names in apis.items():
        same = {name: _SPACES.get(module, "") + name for name in names}
        apis[module] = {
            n: "" if ops == same[n] and module in _SPACES else ops
            for n, ops in sorted(names.items())
            if ops is not None
        }
    return {"apis": apis, "steps": _steps(aten, aliases)}


class _Bodies:
    def __init__(self, torch: Wheel, aten: dict[str, dict[str, str]]) -> None:
        self.torch, self.aten = torch, aten
        self._modules: dict[str, _Module] = {}
        self._done: dict[tuple[str, str], frozenset[str] | None] = {}

    def module(self, name: str) -> _Module:
        if name not in self._modules:
            self._modules[name] = _Module(name, self.torch)
        return self._modules[name]

    def called(self, name: str, variant: str = "") -> bool:
        """Whether an operator has an overload that an ordinary call reaches."""
        flags = (f.partition(">")[0] for f in self.aten.get(name, {}).values())
        return any(variant in f and "o" not in f for f in flags)

    def written(self, place: str, builtin: Mapping[str, object]) -> dict[str, str | None]:
        """Of every public function of a module or a class its operators. One of which they are not certain has no entry, or None
        where its name is in `builtin`: the entry that it has there does not hold."""
        head, _, last_word = place.rpartition(".")
        owner = self.module(head).classes.get(last_word) if last_word[:1].isupper() else None
        home = self.module(head if owner else place)
        functions = _methods(owner) if owner else home.functions | home.values
        exported = functions if owner or home.exported is None else home.exported
        by_function: dict[str, str | None] = {}
        for name in sorted(n for n in functions if n[0] != "_" and (n in exported or not builtin)):
            operators = self.method(home, owner, name) if owner else self.function(home.name, name)
            if operators:
                by_function[name] = " ".join(sorted(_weighty(operators)))
            elif name in builtin:
                by_function[name] = None  # Python stands before the operator, and what it does is not certain
        return by_function

    def forwards(self) -> dict[str, str | None]:
        """What the `forward` of every class that torch.nn offers runs."""
        package = self.module("torch.nn.modules")
        by_class: dict[str, str | None] = {}
        for name in sorted(set(package.exported or ()) & package.imported.keys()):
            home, owner = self.owner(package.imported[name])
            if owner is not None and (operators := self.method(home, owner, "forward")):
                by_class[name] = " ".join(sorted(_weighty(operators)))
        return by_class

    def owner(self, dotted: str) -> tuple[_Module, ast.ClassDef | None]:
        head, _, name = dotted.rpartition(".")
        home = self.module(head)
        if name in home.classes:
            return home, home.classes[name]
        return self.owner(home.imported[name]) if name in home.imported else (home, None)

    def function(self, module: str, name: str) -> frozenset[str] | None:
        """The operators of one function or alias; None where not all of it is certain."""
        key = (module, name)
        if key not in self._done:
            # for one that calls itself; of two that call each other, as none do in torch, one would lack operators
            self._done[key] = frozenset()
            home = self.module(module)
            if name in home.functions:
                self._done[key] = self._body(home, None, home.functions[name])
            elif name in home.values:
                self._done[key] = self._value(home, home.values[name])
            else:
                self._done[key] = None
        return self._done[key]

    def method(
        self, home: _Module, owner: ast.ClassDef, name: str, is_inherited: bool = False
    ) -> frozenset[str] | None:
        """The same of a method, looked up through the base classes; `is_inherited`: in these alone."""
        methods = {} if is_inherited else _methods(owner)
        if name in methods:
            key = (f"{home.name}.{owner.name}", name)
            if key not in self._done:
                self._done[key] = frozenset()
                self._done[key] = self._body(home, owner, methods[name])
            return self._done[key]
        for base in owner.bases:
            place = home.absolute(ast.unparse(base)) or f"{home.name}.{ast.unparse(base)}"
            above, base_class = self.owner(place)
            operators = self.method(above, base_class, name) if base_class is not None else None
            if operators is not None:
                return operators
        return None

    def _value(self, home: _Module, value: ast.expr) -> frozenset[str] | None:
        """`_add_docstr(torch._C._nn.gelu, ...)`, `boolean_dispatch(if_true=f, if_false=g)`, another name."""
        if isinstance(value, ast.Call):
            called = ast.unparse(value.func)
            if called.endswith("boolean_dispatch"):
                ways = [k.value for k in value.keywords if k.arg in ("if_true", "if_false")]
                return _together(self._value(home, way) for way in ways)
            if called.endswith("_add_docstr") and value.args:
                return self._value(home, value.args[0])
            return None
        return self._named(home, ast.unparse(value)) if isinstance(value, (ast.Name, ast.Attribute)) else None

    def _body(self, home: _Module, owner: ast.ClassDef | None, node: ast.FunctionDef) -> frozenset[str] | None:
        local = {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
        local |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return _together(self._call(home, owner, local, call) for call in _calls(node.body))

    def _call(
        self, home: _Module, owner: ast.ClassDef | None, local: set[str], call: ast.Call
    ) -> frozenset[str] | None:
        name = ast.unparse(call.func)
        if isinstance(call.func, ast.Attribute):
            method = call.func.attr
            root = name.partition(".")[0]
            if owner is not None and name in (f"self.{method}", f"super().{method}") and owner.name != "Tensor":
                if computes_nothing(name):
                    return frozenset()
                return self.method(home, owner, method, name.startswith("super"))
            if root not in home.imported and root not in home.functions:
                if computes_nothing(name):
                    return frozenset()
                known = self.called(method, "m") and (root in local or "(" in root or root.startswith("self"))
                return frozenset((method,)) if known else None
        return frozenset() if computes_nothing(name) else self._named(home, name)

    def _named(self, home: _Module, name: str) -> frozenset[str] | None:
        """The operators behind a dotted name as `home` understands it."""
        if name in home.functions or name in home.values:
            return self.function(home.name, name)
        full = home.absolute(name)
        if full is None:
            return None
        module, _, last_word = full.rpartition(".")
        if computes_nothing(full):
            return frozenset()
        if module == "torch" and last_word in self.module("torch.functional").functions:
            return self.function("torch.functional", last_word)
        if module in _FUNCTIONS:
            return self.function(module, last_word)
        prefix = _SPACES.get(module, "")
        bound = module in ("torch", "torch._VF", *_BOUND) or bool(prefix)
        return frozenset((prefix + last_word,)) if bound and self.called(prefix + last_word) else None


class _Module:
    """The functions, classes, aliases and imports at the top of one module."""

    def __init__(self, name: str, torch: Wheel) -> None:
        self.name = name
        self.functions: dict[str, ast.FunctionDef] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.values: dict[str, ast.expr] = {}
        self.imported: dict[str, str] = {"torch": "torch"}
        self.exported: set[str] | None = None
        package = name if torch.is_package(name) else name.rpartition(".")[0]
        tree = torch.parse(name)
        for node in _top(tree.body) if tree else ():
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if node.targets[0].id == "__all__":
                    elements = getattr(node.value, "elts", ())
                    self.exported = {
                        e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)
                    }
                else:
                    self.values[node.targets[0].id] = node.value
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name.partition(".")[0]
                    self.imported[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom):
                above = package
                for _ in range(node.level - 1):
                    above = above.rpartition(".")[0]
                source = ".".join(filter(None, (above if node.level else "", node.module)))
                self.imported |= {a.asname or a.name: f"{source}.{a.name}" for a in node.names}

    def absolute(self, name: str) -> str | None:
        root, dot, tail = name.partition(".")
        return self.imported[root] + dot + tail if root in self.imported else None


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _top([*node.body, *node.orelse])


def _methods(owner: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {n.name: n for n in owner.body if isinstance(n, ast.FunctionDef)}


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """Every call that a run can reach; what raises or only checks is left out."""
    for node in body:
        if isinstance(node, (ast.Raise, ast.Assert, ast.FunctionDef)):
            continue
        fields: list[ast.AST] = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.If) and "is_cuda" in ast.unparse(node.test):  # false on an NPU
            fields = [*(node.body if isinstance(node.test, ast.UnaryOp) else node.orelse)]
        for field in fields:
            if isinstance(field, ast.stmt):
                yield from _calls([field])
            else:
                yield from (n for n in ast.walk(field) if isinstance(n, ast.Call))


def _together(parts: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    operators: frozenset[str] = frozenset()
    for part in parts:
        if part is None:
            return None
        operators |= part
    return operators


def _weighty(operators: frozenset[str]) -> frozenset[str]:
    """Without those that only look at a tensor from another side, unless there is nothing else."""
    return frozenset(op for op in operators if not moves(op)) or operators


# Without a gradient it runs _linalg_eigvals, with one linalg_eig.
_UNDECIDED = frozenset({"linalg_eigvals"})


def _steps(aten: dict[str, dict[str, str]], aliases: dict[str, str]) -> dict[str, str]:
    """Composites that only check their arguments and call one other operator.

    Aliases, as torch's table calls them, and the pairs that its linear algebra is built of: linalg_X calls _linalg_X or
    linalg_X_ex, det and slogdet call linalg_X, special_X is X. A trace of every such operator on torch 2.13 agrees.
    """
    steps = {}
    for name, overloads in aten.items():
        if name in _UNDECIDED or {f[0] for f in overloads.values() if "o" not in f.partition(">")[0]} != {"i"}:
            continue
        bare = name.removeprefix("linalg_").removeprefix("special_")
        algebra = name.startswith("linalg_")
        others = [f"{name}_ex", f"_{name}"] if algebra else [bare] if name != bare else [f"linalg_{name}"]
        for other in (aliases.get(name, ""), *others):
            if other in aten:
                steps[name] = other
                break
    return steps
