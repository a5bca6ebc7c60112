"""Where numpy computes a value, followed from where it is used through names, parameters and functions of the project."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from porter.project.bound_values import At, Bound, argument, fits, has_starred, position
from porter.project.imports import imports_name
from porter.python.evidence import call_name, constant
from porter.python.index import Node
from porter.python.walks import walk
from porter.regex import lazy

Parse = Callable[[bytes], "ast.Module | None"]
Place = tuple[str, str]  # (path, function or class at the top of the file in which numpy computes; "" for none)
# of what is asked of a dictionary, a tuple or an array, outermost first; None: nobody can tell
Keys = tuple[object, ...]
Values = list[tuple[Node, At]]

_DEFINED = lazy(rb"def (\w+)\(")
_NUMBERS = frozenset({"random", "size", "ndim", "shape"})  # what numpy answers with numbers of Python
_PLAIN = frozenset({"float", "int", "item", "tolist"})  # what makes a number of Python
# methods of arrays that give back arrays, or numbers of numpy
_OF_ARRAYS = frozenset(
    "astype copy cumsum dot flatten max mean min ravel reshape round squeeze std sum transpose var".split()
)
_DEEP = 12  # steps from where a value is used to where it is computed
_NESTED = 2  # keys that are followed
_FEW = 3  # files that define functions of one name; of more, nobody can tell which is meant
_MANY = 16  # files that call a function


class NumpyValues:
    def __init__(self, texts: Mapping[str, bytes], parse: Parse):
        self.texts, self._parse = texts, parse
        self._modules: dict[str, Bound | None] = {}
        self._known: dict[tuple[Node, int, Keys], frozenset[Place]] = {}
        self._together: dict[tuple[int, int, Keys], frozenset[Place]] = {}  # by the lists of values
        self._handed: dict[tuple[Node, str], Values] = {}  # to the parameters of functions
        self._marked: dict[bytes, list[str]] = {}

    def is_used(self) -> bool:
        """Whether any file of the project names numpy."""
        return any(b"numpy" in data for data in self.texts.values())

    def module(self, path: str) -> Bound | None:
        if path not in self._modules:
            tree = self._parse(self.texts[path])
            self._modules[path] = Bound(path, self.texts[path], tree) if tree is not None else None
        return self._modules[path]

    def places(self, values: Values) -> frozenset[Place]:
        """Where numpy computes one of the values that one name has."""
        return self._joined(values, _DEEP, (), are_calls=False)

    def _computed(self, value: Node, at: At, deep: int, keys: Keys = ()) -> frozenset[Place]:
        """Where numpy computes what stands under keys of a value, or the value; nowhere where it is none of numpy's, or nobody can
        tell."""
        if deep > 0 and len(keys) <= _NESTED and (value, deep, keys) not in self._known:
            self._known[value, deep, keys] = self._compute(value, at, deep, keys)
        return self._known.get((value, deep, keys), frozenset())

    def _compute(self, value: Node, at: At, deep: int, keys: Keys) -> frozenset[Place]:
        match value:
            case ast.Call():
                return self._of_call(value, at, deep, keys)
            case ast.BinOp():
                parts: Iterable[Node] = (value.left, value.right)
            case ast.IfExp():
                parts = (value.body, value.orelse)
            case ast.UnaryOp():
                parts = (value.operand,)
            case ast.Lambda():
                parts = (value.body,)
            case ast.Subscript():
                parts, keys = (value.value,), (constant(value.slice), *keys)
            case ast.Tuple() | ast.List() | ast.Dict() if keys:
                parts, keys = _under(value, keys[0]), keys[1:]
            case ast.Name():
                return self._of_name(value.id, at, deep, keys)
            case ast.Attribute() if getattr(value.value, "id", "") == "self":
                module = self.module(at.path)
                return self._of_all(module.bound.get((at.owner, value.attr), []) if module else [], deep, keys)
            case _:
                parts = ()
        return frozenset(place for part in parts for place in self._computed(part, at, deep, keys))

    def _of_call(self, call: ast.Call, at: At, deep: int, keys: Keys) -> frozenset[Place]:
        module = self.module(at.path)
        root, *words = _chain(call.func)
        if module and root in module.numpy:
            is_plain = not _NUMBERS.isdisjoint(words) or any(isinstance(key, str) for key in keys)
            return frozenset() if is_plain else frozenset({(at.path, at.outer)})
        name = call_name(call.func)
        is_bare = call.func.__class__ is ast.Name
        if is_bare and name in ("max", "min", "abs", "round"):
            return frozenset(place for part in call.args for place in self._computed(part, at, deep, keys))
        if name in _PLAIN:
            return frozenset()
        if name in _OF_ARRAYS and not is_bare and root != "self":
            inner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            if places := self._computed(inner, at, deep, () if keys and not isinstance(keys[0], str) else keys):
                return places
        found = self._of_function(call.func, at, deep, keys, call)
        return found or (self._of_name(name, at, deep - 1, keys) if is_bare else found)  # a function that is handed on

    def _of_function(self, func: Node, at: At, deep: int, keys: Keys, call: ast.Call | None = None) -> frozenset[Place]:
        """What a function gives back, if it is numpy's of each that may be meant."""
        found = frozenset[Place]()
        for results in self._results(func, at, call):
            if not (places := self._of_all(results, deep, keys)):
                return frozenset()
            found |= places
        return found

    def _results(self, func: Node, at: At, call: ast.Call | None) -> Iterator[Values]:
        """A name is a function of this file, or one that it imports; `self.rate` and `schedule.rate` are methods of this file, or
        else of the project."""
        root, name = _chain(func)[0], call_name(func)
        is_bare = func.__class__ is ast.Name
        paths = self._defining(name)
        if is_bare and self._is_local(name, at):
            return
        imported = [path for path in paths if root != "self" and imports_name(self.texts[at.path], path, name)]
        if at.path in paths and (is_bare or not imported) and self._returned(at.path, name, not is_bare, call):
            paths = [at.path]
        elif is_bare or imported:
            paths = imported
        is_method = not is_bare and not imported
        for path in paths if len(paths) <= _FEW else ():
            returned = self._returned(path, name, is_method, call)
            # `metrics.rank(...)`: a package may have the function from the only file that defines one
            if not returned and is_method and root not in ("", "self") and len(paths) == 1:
                returned = self._returned(path, name, False, call)
            yield from returned

    def _returned(self, path: str, name: str, methods: bool, call: ast.Call | None) -> list[Values]:
        """What each function of a name gives back; one that gives back nothing, or takes other arguments, is not meant."""
        module = self.module(path)
        functions = module.functions.get(name, ()) if module else ()
        meant = (f for f, is_method in functions if is_method == methods and (call is None or fits(call, f)))
        return [module.returned[one] for one in meant if module and one in module.returned]

    def _is_local(self, name: str, at: At) -> bool:
        """Whether a function around a place binds a name, or gets it."""
        module = self.module(at.path)
        bound = module.bound if module else {}
        return any(((one,), name) in bound or position(one, name) is not None for one in at.functions)

    def _defining(self, name: str) -> list[str]:
        return self._definitions.get(name.encode(), [])

    @cached_property
    def _definitions(self) -> dict[bytes, list[str]]:
        """By the name of a function, the files that define one: each text is read once, and not once for each name."""
        found: dict[bytes, list[str]] = {}
        for path, data in self.texts.items():
            for name in sorted(set(_DEFINED.findall(data))):
                found.setdefault(name, []).append(path)
        return found

    def _with(self, mark: bytes) -> list[str]:
        if mark not in self._marked:
            self._marked[mark] = [path for path, data in self.texts.items() if mark in data]
        return self._marked[mark]

    def _of_all(self, values: Values, deep: int, keys: Keys = (), are_calls: bool = False) -> frozenset[Place]:
        """Of several values that one name has; none where one of them was made plain, but by another call."""
        key = (id(values), deep, keys)  # all that is asked twice is kept by a file, or in `_handed`
        if values and key not in self._together:
            self._together[key] = self._joined(values, deep, keys, are_calls)
        return self._together.get(key, frozenset())

    def _joined(self, values: Values, deep: int, keys: Keys, are_calls: bool) -> frozenset[Place]:
        found = [(value, self._computed(value, at, deep - 1, keys)) for value, at in values]
        is_plain = not are_calls and any(not places and _makes_plain(value) for value, places in found)
        return frozenset() if is_plain else frozenset().union(*(places for _, places in found))

    def _of_name(self, name: str, at: At, deep: int, keys: Keys) -> frozenset[Place]:
        module = self.module(at.path)
        if module is None:
            return frozenset()
        for depth in range(len(at.functions), -1, -1):
            around = at.functions[:depth]
            if (values := module.bound.get((around[-1:], name))) is not None:
                return self._of_all(values, deep, keys)
            if around and (index := position(around[-1], name)) is not None:
                key = (around[-1], name)
                if key not in self._handed:
                    self._handed[key] = self._given(module, around[-1], index, name, at)
                return self._of_all(self._handed[key], deep, keys, are_calls=True)
            if not around and name in module.functions:
                return self._of_function(ast.Name(name), at._replace(functions=()), deep, keys)
        return frozenset()

    def _given(self, own: Bound, function: Node, index: int, name: str, at: At) -> Values:
        """What the calls of a function hand to a parameter: those of its file, else of the files that import it. Another object may
        have a method of the same name, if two classes of the project define one."""
        is_method = (function, True) in own.functions[function.name]
        called = function.name
        if is_method and called == "__init__":
            called, is_method = at.owner.name, False
        paths = self._defining(called) if is_method else []
        is_only = len(paths) == 1 and len(own.functions[called]) == 1

        def is_meant(call: Node, where: At) -> bool:
            if is_method:
                return is_only or _chain(call.func)[0] == "self" and where.owner is at.owner
            return call.func.__class__ is ast.Name

        calls = [call for call in own.calls.get(called, ()) if is_meant(*call)]
        if not calls and (is_only or called == at.outer):
            calling = self._with(b"%s%s(" % (b"." * is_method, called.encode()))
            paths = [p for p in calling if p != at.path and (is_method or imports_name(self.texts[p], at.path, called))]
            modules = filter(None, map(self.module, paths if len(paths) <= _MANY else ()))
            calls = [call for module in modules for call in module.calls.get(called, ())]
        given = ((argument(call, index, name), where) for call, where in calls)
        return [(value, where) for value, where in given if value is not None]


def _chain(func: Node) -> list[str]:
    """`np`, `random` and `rand` of `np.random.rand`; first "" where no name begins it."""
    words: list[str] = []
    while func.__class__ is ast.Attribute:
        words.append(func.attr)
        func = func.value
    return [getattr(func, "id", ""), *reversed(words)]


def _under(whole: Node, key: object) -> list[Node]:
    """What stands under a key of a dictionary, or at a place of a tuple."""
    if whole.__class__ is ast.Dict:
        return [v for k, v in zip(whole.keys, whole.values) if key is not None and constant(k) == key]
    is_known = isinstance(key, int) and key < len(whole.elts) and not has_starred(whole.elts)
    return [whole.elts[key]] if is_known else []


def _makes_plain(value: Node) -> bool:
    """`float(rate)`, `list(map(float, rates))`."""
    return any(getattr(inner, "id", getattr(inner, "attr", "")) in _PLAIN for inner in walk(value))
