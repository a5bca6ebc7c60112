"""Where numpy computes a learning rate: its float64 goes into `optimizer.state_dict()`, which `torch.load` refuses from 2.6 on.

A rate counts where the code that computes it is read: `param_group["lr"] = 0.5 * (1 + np.cos(x))`, an element of an array that a
function of the project gives back, and what a LambdaLR multiplies with. A rate that goes through `float` is plain.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from porter.project.imports import imports_name
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node
from porter.python.walks import children, walk
from porter.regex import lazy

Parse = Callable[[bytes], "ast.Module | None"]
Place = tuple[str, str]  # (path, function or class at the top of the file in which numpy computes; "" for none)

_SETS = lazy(rb"\[[\"']lr[\"']\][ \t]*[*]?=(?!=)|\bLambdaLR\(")
_WORDS = (b'"lr"]', b"'lr']", b"LambdaLR(")  # one of these is in all that matches
_NUMPY = lazy(rb"^[ \t]*import[ \t](?:[^\n;]*[ \t,])?numpy\b(?!\.)(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
_NUMBERS = frozenset({"random", "size", "ndim"})  # what numpy answers with numbers of Python
_PLAIN = frozenset({"float", "int", "item", "tolist"})  # what makes a number of Python
_DEEP = 8  # steps from where a rate is set to where it is computed
_FEW = 3  # files that define functions of one name; of more, nobody can tell which is meant
_MANY = 16  # files that call a function


class _At(NamedTuple):
    """Where an expression stands."""

    path: str
    outer: str
    functions: tuple[Node, ...]  # the innermost last
    owner: Node  # the innermost class; None outside of classes
    in_class: bool  # in the body of a class, and in no function of it


Values = list[tuple[Node, _At]]


class _Module:
    """What the functions of one file bind, call and give back."""

    def __init__(self, path: str, data: bytes, tree: ast.Module):
        self.numpy = frozenset(name.decode() or "numpy" for name in _NUMPY.findall(data))
        self.functions: dict[str, list[tuple[Node, bool]]] = {}  # by name, and whether they are methods
        # by function, or class, and name; none of what a loop, `with` and their kin bind, which hides other names
        self.bound: dict[tuple[Node, str], Values] = {}
        self.calls: dict[str, Values] = {}
        self.returned: dict[Node, Values] = {}
        self.rates: dict[tuple[Node, ...], Values] = {}  # by the function that sets them
        self._walk(tree, _At(path, "", (), None, False), frozenset())

    def _walk(self, tree: ast.Module, start: _At, groups: frozenset[str]) -> None:
        todo: list[tuple[Node, _At, frozenset[str]]] = [(tree, start, groups)]
        while todo:
            node, at, groups = todo.pop()
            if node.__class__ is ast.ClassDef:
                at = at._replace(outer=at.outer or node.name, owner=node, in_class=True)
            elif node.__class__ in FUNCTIONS[:2]:
                self.functions.setdefault(node.name, []).append((node, at.in_class))
                at = at._replace(outer=at.outer or node.name, functions=(*at.functions, node), in_class=False)
            elif node.__class__ is ast.For and _of_groups(node.iter):
                groups = groups | {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            elif node.__class__ is ast.Return and node.value is not None and at.functions:
                self.returned.setdefault(at.functions[-1], []).append((node.value, at))
            elif node.__class__ is ast.Call:
                self.calls.setdefault(call_name(node.func), []).append((node, at))
                if call_name(node.func) == "LambdaLR" and (factor := _argument(node, 1, "lr_lambda")) is not None:
                    self.rates[(node,)] = [(factor, at)]
            elif node.__class__ in (ast.Assign, ast.AugAssign):
                for target in node.targets if node.__class__ is ast.Assign else [node.target]:
                    self._set(target, node.value, at, groups)
            elif node.__class__ is ast.Name and node.ctx.__class__ is ast.Store:
                self.bound.setdefault(_key(node.id, at), [])
            todo += [(child, at, groups) for child in reversed(children(node))]

    def _set(self, target: Node, value: Node, at: _At, groups: frozenset[str]) -> None:
        if target.__class__ is ast.Name:
            self.bound.setdefault(_key(target.id, at), []).append((value, at))
        elif target.__class__ is ast.Attribute and getattr(target.value, "id", "") == "self":
            self.bound.setdefault((at.owner, target.attr), []).append((value, at))
        elif target.__class__ is ast.Subscript and constant(target.slice) == "lr":
            if getattr(target.value, "id", "") in groups or _of_groups(target.value):
                self.rates.setdefault(at.functions[-1:], []).append((value, at))


def _key(name: str, at: _At) -> tuple[Node, str]:
    return (at.owner if at.in_class else at.functions[-1:], name)


def numpy_rates(texts: Mapping[str, bytes], parse: Parse) -> frozenset[Place]:
    """Where the rates of the project that numpy computes are computed."""
    setting = [path for path, data in texts.items() if any(word in data for word in _WORDS) and _SETS.search(data)]
    if not setting or not any(b"numpy" in data for data in texts.values()):
        return frozenset()
    project = _Project(texts, parse)
    modules = filter(None, map(project.module, setting))
    return frozenset(p for module in modules for rates in module.rates.values() for p in project.of_all(rates, _DEEP))


class _Project:
    def __init__(self, texts: Mapping[str, bytes], parse: Parse):
        self._texts, self._parse = texts, parse
        self._modules: dict[str, _Module | None] = {}
        self._known: dict[tuple[Node, int], frozenset[Place]] = {}
        self._marked: dict[bytes, list[str]] = {}
        self._handed: dict[tuple[Node, str], Values] = {}  # to the parameters of functions

    def module(self, path: str) -> _Module | None:
        if path not in self._modules:
            tree = self._parse(self._texts[path])
            self._modules[path] = _Module(path, self._texts[path], tree) if tree is not None else None
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
                return self.of_all(module.bound.get((at.owner, value.attr), []) if module else [], deep)
            case _:
                parts = ()
        return frozenset(place for part in parts for place in self.computed(part, at, deep))

    def _of_call(self, call: ast.Call, at: _At, deep: int) -> frozenset[Place]:
        module = self.module(at.path)
        root, *words = _chain(call.func)
        if module and root in module.numpy:
            return frozenset() if not _NUMBERS.isdisjoint(words) else frozenset({(at.path, at.outer)})
        name = call_name(call.func)
        if call.func.__class__ is ast.Name and name in ("max", "min", "abs", "round"):
            return frozenset(place for part in call.args for place in self.computed(part, at, deep))
        return self._of_function(call.func, at, deep) if name not in _PLAIN else frozenset()

    def _of_function(self, func: Node, at: _At, deep: int) -> frozenset[Place]:
        """What a function gives back, if it is numpy's of each that may be meant."""
        found = frozenset[Place]()
        for results in self._results(func, at):
            if not (places := self.of_all(results, deep - 1)):
                return frozenset()
            found |= places
        return found

    def _results(self, func: Node, at: _At) -> Iterator[Values]:
        """A name is a function of this file, or one that it imports; `self.rate` and `schedule.rate` are methods of this file, or
        else of the project."""
        root, name = _chain(func)[0], call_name(func)
        is_bare = func.__class__ is ast.Name
        paths = self._defining(name)
        if is_bare and self._is_local(name, at):
            return
        imported = [path for path in paths if root != "self" and imports_name(self._texts[at.path], path, name)]
        if at.path in paths and (is_bare or not imported) and self._returned(at.path, name, not is_bare):
            paths = [at.path]
        elif is_bare or imported:
            paths = imported
        for path in paths if len(paths) <= _FEW else ():
            yield from self._returned(path, name, not is_bare and not imported)

    def _returned(self, path: str, name: str, methods: bool) -> list[Values]:
        module = self.module(path)
        functions = module.functions.get(name, ()) if module else ()
        return [module.returned.get(node, []) for node, is_method in functions if module and is_method == methods]

    def _is_local(self, name: str, at: _At) -> bool:
        """Whether a function around a place binds a name, or gets it."""
        module = self.module(at.path)
        bound = module.bound if module else {}
        return any(((one,), name) in bound or _position(one, name) is not None for one in at.functions)

    def _defining(self, name: str) -> list[str]:
        return self._with(b"def %s(" % name.encode())

    def _with(self, mark: bytes) -> list[str]:
        if mark not in self._marked:
            self._marked[mark] = [path for path, data in self._texts.items() if mark in data]
        return self._marked[mark]

    def of_all(self, values: Values, deep: int, are_calls: bool = False) -> frozenset[Place]:
        """Of several values that one name has; none where one of them was made plain, but by another call."""
        key = (id(values), deep)  # all that is asked twice is kept by a module, or in `_handed`
        if values and key not in self._known:
            found = [(value, self.computed(value, at, deep - 1)) for value, at in values]
            is_plain = not are_calls and any(not places and _makes_plain(value) for value, places in found)
            self._known[key] = frozenset() if is_plain else frozenset().union(*(places for _, places in found))
        return self._known.get(key, frozenset())

    def _of_name(self, name: str, at: _At, deep: int) -> frozenset[Place]:
        module = self.module(at.path)
        if module is None:
            return frozenset()
        for depth in range(len(at.functions), -1, -1):
            around = at.functions[:depth]
            if (values := module.bound.get((around[-1:], name))) is not None:
                return self.of_all(values, deep)
            if around and (index := _position(around[-1], name)) is not None:
                key = (around[-1], name)
                if key not in self._handed:
                    self._handed[key] = self._given(module, around[-1], index, name, at)
                return self.of_all(self._handed[key], deep, are_calls=True)
            if not around and name in module.functions:
                return self._of_function(ast.Name(name), at._replace(functions=()), deep)
        return frozenset()

    def _given(self, own: _Module, function: Node, index: int, name: str, at: _At) -> Values:
        """What the calls of a function hand to a parameter: those of its file, else of the files that import it. Another object may
        have a method of the same name, if two classes of the project define one."""
        is_method = (function, True) in own.functions[function.name]
        called = function.name
        if is_method and called == "__init__":
            called, is_method = at.owner.name, False
        paths = self._defining(called) if is_method else []
        is_only = len(paths) == 1 and len(own.functions[called]) == 1

        def fits(call: Node, where: _At) -> bool:
            if is_method:
                return is_only or _chain(call.func)[0] == "self" and where.owner is at.owner
            return call.func.__class__ is ast.Name

        calls = [call for call in own.calls.get(called, ()) if fits(*call)]
        if not calls and (is_only or called == at.outer):
            calling = self._with(b"%s%s(" % (b"." * is_method, called.encode()))
            paths = [
                p for p in calling if p != at.path and (is_method or imports_name(self._texts[p], at.path, called))
            ]
            modules = filter(None, map(self.module, paths if len(paths) <= _MANY else ()))
            calls = [call for module in modules for call in module.calls.get(called, ())]
        given = ((_argument(call, index, name), where) for call, where in calls)
        return [(value, where) for value, where in given if value is not None]


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


def _chain(func: Node) -> list[str]:
    """`np`, `random` and `rand` of `np.random.rand`; first "" where no name begins it."""
    words: list[str] = []
    while func.__class__ is ast.Attribute:
        words.append(func.attr)
        func = func.value
    return [getattr(func, "id", ""), *reversed(words)]


def _makes_plain(value: Node) -> bool:
    """`float(rate)`, `list(map(float, rates))`."""
    return any(getattr(inner, "id", getattr(inner, "attr", "")) in _PLAIN for inner in walk(value))


def has_rates(path: str, data: bytes, places: Iterable[Place]) -> bool:
    """Whether a file computes one of these rates, or imports what does."""
    return any(path == where or name and imports_name(data, where, name) for where, name in places)
