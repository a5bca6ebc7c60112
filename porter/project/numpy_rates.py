"""Where numpy computes a learning rate: its float64 goes into `optimizer.state_dict()`, which `torch.load` refuses from 2.6 on.

A rate counts where the code that computes it is read: `param_group["lr"] = 0.5 * (1 + np.cos(x))`, an element of an array that a
function of the project gives back, and what a LambdaLR multiplies with. A rate that goes through `float` is plain.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from porter.project.imports import imports
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node
from porter.python.walks import children, walk
from porter.regex import lazy

Parse = Callable[[bytes], "ast.Module | None"]
Place = tuple[str, str]  # (path, function or class at the top of the file in which numpy computes; "" for none)

_SETS = lazy(rb"\[[\"']lr[\"']\][ \t]*[*]?=(?!=)|\bLambdaLR\(")
_WORDS = (b'"lr"]', b"'lr']", b"LambdaLR(")  # one of these is in all that matches
_NUMPY = frozenset({"np", "numpy"})
_PLAIN = frozenset({"float", "int", "item", "tolist"})  # what makes a number of Python
_DEEP = 8  # steps from where a rate is set to where it is computed
_FEW = 3  # files that define functions of one name; of more, nobody can tell which is meant
_MANY = 16  # files that call a function


class _At(NamedTuple):
    """Where an expression stands."""

    path: str
    outer: str
    functions: tuple[Node, ...]  # the innermost last


class _Module:
    """What the functions of one file bind, call and give back."""

    def __init__(self, path: str, tree: ast.Module):
        self.functions: dict[str, list[tuple[Node, _At]]] = {}  # by name, and what they see from inside
        self.bound: dict[tuple[Node, str], list[tuple[Node, _At]]] = {}  # by function, or class, and name
        self.calls: dict[str, list[tuple[Node, _At]]] = {}
        self.returned: dict[Node, list[tuple[Node, _At]]] = {}
        self.rates: list[tuple[Node, _At]] = []
        self._walk(tree, _At(path, "", ()), frozenset())

    def _walk(self, tree: ast.Module, start: _At, groups: frozenset[str]) -> None:
        todo: list[tuple[Node, _At, frozenset[str]]] = [(tree, start, groups)]
        while todo:
            node, at, groups = todo.pop()
            if node.__class__ in (*FUNCTIONS[:2], ast.ClassDef):
                inside = at._replace(outer=at.outer or node.name)
                if node.__class__ is not ast.ClassDef:
                    inside = inside._replace(functions=(*at.functions, node))
                    self.functions.setdefault(node.name, []).append((node, inside))
                at = inside
            elif node.__class__ is ast.For and _of_groups(node.iter):
                groups = groups | {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            elif node.__class__ is ast.Return and node.value is not None and at.functions:
                self.returned.setdefault(at.functions[-1], []).append((node.value, at))
            elif node.__class__ is ast.Call:
                self.calls.setdefault(call_name(node.func), []).append((node, at))
                if call_name(node.func) == "LambdaLR" and (factor := _argument(node, 1, "lr_lambda")) is not None:
                    self.rates.append((factor, at))
            elif node.__class__ in (ast.Assign, ast.AugAssign):
                for target in node.targets if node.__class__ is ast.Assign else [node.target]:
                    self._set(target, node.value, at, groups)
            todo += [(child, at, groups) for child in reversed(children(node))]

    def _set(self, target: Node, value: Node, at: _At, groups: frozenset[str]) -> None:
        if target.__class__ is ast.Name:
            self.bound.setdefault((at.functions[-1:], target.id), []).append((value, at))
        elif target.__class__ is ast.Attribute and getattr(target.value, "id", "") == "self":
            self.bound.setdefault((at.outer, target.attr), []).append((value, at))
        elif target.__class__ is ast.Subscript and constant(target.slice) == "lr":
            if getattr(target.value, "id", "") in groups or _of_groups(target.value):
                self.rates.append((value, at))


def numpy_rates(texts: Mapping[str, bytes], parse: Parse) -> frozenset[Place]:
    """Where the rates of the project that numpy computes are computed."""
    setting = [path for path, data in texts.items() if any(word in data for word in _WORDS) and _SETS.search(data)]
    if not setting or not any(b"numpy" in data for data in texts.values()):
        return frozenset()
    project = _Project(texts, parse)
    modules = filter(None, map(project.module, setting))
    return frozenset(p for module in modules for rate, at in module.rates for p in project.computed(rate, at, _DEEP))


class _Project:
    def __init__(self, texts: Mapping[str, bytes], parse: Parse):
        self._texts, self._parse = texts, parse
        self._modules: dict[str, _Module | None] = {}
        self._known: dict[tuple[Node, int], frozenset[Place]] = {}
        self._marked: dict[bytes, list[str]] = {}

    def module(self, path: str) -> _Module | None:
        if path not in self._modules:
            tree = self._parse(self._texts[path])
            self._modules[path] = _Module(path, tree) if tree is not None else None
        return self._modules[path]

    def computed(self, value: Node, at: _At, deep: int) -> frozenset[Place]:
        """Where numpy computes a value; nowhere where it is none of numpy's, or nobody can tell."""
        if deep > 0 and (value, deep) not in self._known:
            self._known[value, deep] = self._computed(value, at, deep)
        return self._known.get((value, deep), frozenset())

    def _computed(self, value: Node, at: _At, deep: int) -> frozenset[Place]:
        match value:
            case ast.Call():
                return self._of_call(value, at, deep)
            case ast.BinOp():
                parts: Iterable[Node] = (value.left, value.right)
            case ast.IfExp():
                parts = (value.body, value.orelse)
            case ast.UnaryOp():
                parts = (value.operand,)
            case ast.Lambda():
                parts = (value.body,)
            case ast.Subscript() if not isinstance(constant(value.slice), str):
                parts = (value.value,)
            case ast.Name():
                return self._of_name(value.id, at, deep)
            case ast.Attribute() if getattr(value.value, "id", "") == "self":
                module = self.module(at.path)
                return self._of_all(module.bound.get((at.outer, value.attr), ()) if module else (), deep)
            case _:
                parts = ()
        return frozenset(place for part in parts for place in self.computed(part, at, deep))

    def _of_call(self, call: ast.Call, at: _At, deep: int) -> frozenset[Place]:
        if _root(call.func) in _NUMPY:
            return frozenset() if "random" in ast.unparse(call.func) else frozenset({(at.path, at.outer)})
        name = call_name(call.func)
        if call.func.__class__ is ast.Name and name in ("max", "min", "abs", "round"):
            return frozenset(place for part in call.args for place in self.computed(part, at, deep))
        return self._of_function(name, at, deep) if name not in _PLAIN else frozenset()

    def _of_function(self, name: str, at: _At, deep: int) -> frozenset[Place]:
        """What all functions of a name give back, if it is numpy's of each: of this file, else of the project."""
        found = frozenset[Place]()
        for results in self._results(name, at.path):
            if not (places := self._of_all(results, deep - 1)):
                return frozenset()
            found |= places
        return found

    def _results(self, name: str, path: str) -> Iterator[list[tuple[Node, _At]]]:
        paths = self._defining(name)
        for module in filter(None, map(self.module, [path] if path in paths else paths if len(paths) <= _FEW else ())):
            for function, _ in module.functions.get(name, ()):
                yield module.returned.get(function, [])

    def _defining(self, name: str) -> list[str]:
        return self._with(b"def %s(" % name.encode())

    def _with(self, mark: bytes) -> list[str]:
        if mark not in self._marked:
            self._marked[mark] = [path for path, data in self._texts.items() if mark in data]
        return self._marked[mark]

    def _of_all(self, values: Iterable[tuple[Node, _At]], deep: int) -> frozenset[Place]:
        """Of several values that one name has; none where one of them was made plain."""
        found = list(values)
        if any(value.__class__ is ast.Call and call_name(value.func) in _PLAIN for value, _ in found):
            return frozenset()
        return frozenset(place for value, at in found for place in self.computed(value, at, deep - 1))

    def _of_name(self, name: str, at: _At, deep: int) -> frozenset[Place]:
        module = self.module(at.path)
        if module is None:
            return frozenset()
        for depth in range(len(at.functions), -1, -1):
            around = at.functions[:depth]
            if values := module.bound.get((around[-1:], name)):
                return self._of_all(values, deep)
            if around and (index := _position(around[-1], name)) is not None:
                given = self._given(around[-1], index, name, at)
                return frozenset(place for value, where in given for place in self.computed(value, where, deep - 1))
            if not around and name in module.functions:
                return self._of_function(name, at, deep)
        return frozenset()

    def _given(self, function: Node, index: int, name: str, at: _At) -> Iterator[tuple[Node, _At]]:
        """What the calls of a function hand to a parameter: those of its file, else of the files that import it. A method may be
        called from anywhere, if no other file defines one of its name."""
        own = self.module(at.path)
        called = at.outer if function.name == "__init__" else function.name
        if own and own.calls.get(called):
            paths = [at.path]
        elif called == at.outer:
            calling = self._with(b"%s(" % called.encode())
            paths = [path for path in calling if path != at.path and _imports(self._texts[path], at.path, called)]
        else:
            paths = self._with(b".%s(" % called.encode()) if len(self._defining(called)) == 1 else []
        for module in filter(None, map(self.module, paths if len(paths) <= _MANY else ())):
            for call, where in module.calls.get(called, ()):
                if (value := _argument(call, index, name)) is not None:
                    yield value, where


def _of_groups(node: Node) -> bool:
    """`optimizer.param_groups`, whatever is made of it."""
    return any(getattr(inner, "attr", "") == "param_groups" for inner in walk(node))


def _position(function: Node, name: str) -> int | None:
    """Of a parameter, among those that a call gives."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if name in names:
        return names.index(name) - (names[0] in ("self", "cls"))
    return len(names) if name in {a.arg for a in function.args.kwonlyargs} else None


def _argument(call: Node, index: int, name: str) -> Node | None:
    if len(call.args) > index and not any(a.__class__ is ast.Starred for a in call.args[: index + 1]):
        return call.args[index]
    return next((k.value for k in call.keywords if k.arg == name), None)


def _root(func: Node) -> str:
    while func.__class__ is ast.Attribute:
        func = func.value
    return getattr(func, "id", "")


def has_rates(path: str, data: bytes, places: Iterable[Place]) -> bool:
    """Whether a file computes one of these rates, or imports what does."""
    return any(path == where or name and _imports(data, where, name) for where, name in places)


def _imports(data: bytes, path: str, name: str) -> bool:
    stem = path.removesuffix(".py")
    if name.encode() not in data:
        return False
    for found in imports(data):
        module = found.module.lstrip(".").replace(".", "/")
        named = {imported for imported, _ in found.names}
        if name in named and module and f"/{stem}".endswith(f"/{module}"):
            return True
        whole = {module, *(f"{module}/{one}".lstrip("/") for one in named)}
        if any(one and f"/{stem}".endswith(f"/{one}") for one in whole):
            if f"{stem.rpartition('/')[2]}.{name}".encode() in data:
                return True
    return False
