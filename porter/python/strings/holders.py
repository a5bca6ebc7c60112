"""Names what holds a value: a name, an attribute, a key, an option. Two places with the same holder have the same value.

A holder is a text:
`own:DEVICE` is a name of this module, `import:config.DEVICE` one of another, `star:DEVICE` one from an `import *`,
`local:<line>:<column>:name` a name in a function, `own:train(device)` a parameter, `import:train.start(#0)` the first of a function
that another file defines,
`method:wrap(backend)` a parameter of the methods of that name, of whatever class,
`field:device` an attribute, a key or an option, `env:BACKEND` an environment variable.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from porter.engine.functions import Functions
from porter.python.evidence import call_name, constant, flag, like, looked_up, other_library
from porter.python.index import FUNCTIONS, Link, Node, ancestors, owner_of
from porter.python.names import Names
from porter.python.parameters import behind, positional
from porter.python.strings.rows import arguments, read

Handler: TypeAlias = "Callable[[Node, Link], str | None]"  # for one type of node

_SAME = ("lower", "upper", "strip", "casefold")  # methods whose result is the same value
_LIBRARIES = frozenset({"torch", "numpy", "transformers", "pytest", *sys.stdlib_module_names})
_INIT = "__init__"
_INTRINSIC = ("type", "value", "name")  # attributes that torch or an Enum sets, and not the program


def field(name: str) -> str:
    """The holder of an attribute, a key or an option: `field:sync_backend` for `--vllm.sync-backend`."""
    return "field:" + _plain(name)


def _plain(name: str) -> str:
    """The last word of a name, as Python would spell it: `sync_backend` for `--vllm.sync-backend`."""
    return name.lstrip("-").rpartition(".")[2].replace("-", "_")


class Holders:
    """Gives the holders of one file."""

    def __init__(self, names: Names, functions: Functions) -> None:
        """`functions`: what is known of the project's."""
        self._names, self._known = names, functions

    def of(self, node: Node, link: Link) -> str | None:
        """The holder that an expression reads or a target binds. `link`: of the node, or of a parent."""
        handler: Handler | None = getattr(self, f"_{node.__class__.__name__.lower()}", None)
        return handler(node, link) if handler else None

    def _name(self, node: ast.Name, link: Link) -> str | None:
        if full := self._names.imports.get(node.id) and self._names.root(node.id, link):
            return f"import:{full}"
        if "*" in self._names.imports and not self._names.bound(node.id):
            return f"star:{node.id}"
        return self.bound(node.id, link)

    def bound(self, name: str, link: Link) -> str | None:
        """The holder of a name that the file itself binds."""
        places = self._names.bindings(name, link)
        return self._names.once("holder", places, lambda: self._bound_at(name, places))

    def _bound_at(self, name: str, places: list[Link]) -> str | None:
        if not places:
            return None
        home = self._names.scopes.home(name, places[0])
        if home is None:
            return f"own:{name}"
        if home.__class__ is ast.ClassDef:
            return field(name)
        around = next((a for a in ancestors(places[0]) if a[0] is home), None)
        if around and any(place[0].__class__ is ast.arg for place in places):
            return self.parameter(around, name)
        return f"local:{home.lineno}:{home.col_offset}:{name}"

    def parameter(self, function: Link, name: str) -> str:
        """The holder of a parameter. For a top-level function or class it has no line: other files may give it a value."""
        home, owner = function[0], owner_of(function)
        if owner is not None and home.name == _INIT and is_outer(function[1]):
            return f"own:{owner.name}({name})"
        if owner is not None and self._known.of_method(home.name, name):
            return f"method:{home.name}({name})"
        return f"own:{home.name}({name})" if is_outer(function) else f"local:{home.lineno}:{home.col_offset}:{name}"

    def of_test(self, link: Link) -> list[str]:
        """The holders of what a value in the decorator of a test is for: parameters of it, or attributes of a class of tests."""
        return [
            field(given.name) if given.owner[0].__class__ is ast.ClassDef else self.parameter(given.owner, given.name)
            for given in arguments(self._names, link)
            if given.owner is not None
        ]

    def of_row(self, link: Link) -> list[str]:
        """The holders of the values in one row of a test: what it is given, and what it expects. One that it never reads is a label."""
        several = [
            given for given in arguments(self._names, link) if given.row is not None and read(self._names, given)
        ]
        return [f"local:{given.row.lineno}:{given.row.col_offset}:(row)" for given in several[:1]]

    def _attribute(self, node: ast.Attribute, link: Link) -> str | None:
        full = self._names.resolve(node, link)
        if full and self._names.imports:
            return f"import:{full}"
        return None if node.attr in _INTRINSIC else field(node.attr)

    def _subscript(self, node: ast.Subscript, link: Link) -> str | None:
        key = constant(node.slice)
        if not isinstance(key, str):
            return None
        place = "env:" if self._names.resolve(node.value, link) == "os.environ" else "field:"
        return place + _plain(key)

    def _call(self, node: ast.Call, link: Link) -> str | None:
        func: Node = node.func
        callee = call_name(func)
        if key := looked_up(node):
            return ("env:" if self.environment(node, link) else "field:") + _plain(key)
        if callee in _SAME and func.__class__ is ast.Attribute:
            return self.of(func.value, link)
        if callee == "str" and len(node.args) == 1:
            return self.of(node.args[0], link)
        holder = self.of(func, link) if func.__class__ in (ast.Name, ast.Attribute) else None
        if not holder or holder.startswith("local:") or holder.startswith("field:") and not _is_getter(callee):
            return None
        return holder

    def environment(self, node: ast.Call, link: Link) -> bool:
        return self._names.resolve(node.func, link) in ("os.environ.get", "os.getenv", "os.environ.setdefault")

    def _await(self, node: ast.Await, link: Link) -> str | None:
        return self.of(node.value, link)

    _starred = _await

    def _namedexpr(self, node: ast.NamedExpr, link: Link) -> str | None:
        return self.of(node.target, link)

    def option(self, call: ast.Call) -> str | None:
        """The holder of the value of an option: `add_argument("--dist-backend", dest=...)`."""
        named = next((constant(k.value) for k in call.keywords if k.arg == "dest"), None)
        flags = [text for a in call.args if (text := flag(a))]
        longest = next((flag(a) for a in call.args if str(constant(a)).startswith("--")), None)
        name = named if isinstance(named, str) else longest or (flags[0] if flags else None)
        return field(name) if name else None

    def result(self, function: Link) -> str | None:
        """The holder of what a function returns: its own name."""
        if function[0].__class__ is ast.Lambda:
            return None
        if owner_of(function):
            return field(function[0].name)
        return f"own:{function[0].name}" if is_outer(function) else None

    def given(self, call: ast.Call, link: Link, keyword_or_index: str | int) -> str | None:
        """The holder of the parameter that gets an argument of a call, by its keyword or its position."""
        func, before = behind(call.func)
        if func.__class__ is ast.Name and (init := self._inits.get(func.id)) is not None:
            if isinstance(keyword_or_index, str):
                return self.parameter(init, keyword_or_index)
            parameter = positional(init[0].args, keyword_or_index + before + 1)
            return self.parameter(init, parameter.arg) if parameter else None
        owner = _class(link) if getattr(getattr(func, "value", None), "id", "") in ("self", "cls") else None
        if owner or func.__class__ is ast.Name:
            if (function := self._functions.get((call_name(func), owner))) is not None:
                if isinstance(keyword_or_index, str):
                    return self.parameter(function, keyword_or_index)
                parameter = positional(function[0].args, keyword_or_index + before + (owner is not None))
                return self.parameter(function, parameter.arg) if parameter else None
        if func.__class__ not in (ast.Name, ast.Attribute):
            return None
        called = self.of(func, link)
        where = keyword_or_index if isinstance(keyword_or_index, str) else keyword_or_index + before
        if (called or "").startswith("field:") and (name := self._known.of_method(call_name(func), where)):
            return f"method:{call_name(func)}({name})"
        if isinstance(keyword_or_index, str):
            return self.named(called, keyword_or_index)
        return None if _is_of_library(called) else self.named(called, f"#{keyword_or_index + before}")

    @cached_property
    def _functions(self) -> dict[tuple[str, ast.ClassDef | None], Link]:
        """The first function of each name, by name and class."""
        links = (link for several in self._names.scopes.functions.values() for link in several)
        functions: dict[tuple[str, ast.ClassDef | None], Link] = {}
        for link in links:
            functions.setdefault((link[0].name, owner_of(link)), link)
        return functions

    @cached_property
    def _inits(self) -> dict[str, Link]:
        """The `__init__` of each class, by the name of the class."""
        links = self._names.scopes.functions.get(_INIT, ())
        return {owner.name: link for link in links if (owner := owner_of(link)) is not None}

    @staticmethod
    def named(called: str | None, parameter: str) -> str | None:
        """The holder of a parameter. `called`: the holder of the function; only top-level functions and classes count."""
        outer = called and called.startswith(("own:", "import:")) and not called.endswith(")")
        return f"{called}({parameter})" if outer else None


def _is_getter(name: str) -> bool:
    """Whether a method gives a device or a backend, by its name: `self.get_backend()`."""
    return like(name, "device") or like(name, "backend")


def _is_of_library(called: str | None) -> bool:
    """Whether a function surely is none of the project: what it is given by position is nobody's value there."""
    full = (called or "").removeprefix("import:")
    return full.partition(".")[0] in _LIBRARIES or other_library(full)


def is_outer(function: Link) -> bool:
    """Whether a function or class is at the top level of its module."""
    blocks = (ast.ClassDef, *FUNCTIONS)
    return not isinstance(function[0], ast.Lambda) and not any(isinstance(a[0], blocks) for a in ancestors(function))


def _class(link: Link) -> ast.ClassDef | None:
    """The class around a place."""
    return next((a[0] for a in ancestors(link) if a[0].__class__ is ast.ClassDef), None)
