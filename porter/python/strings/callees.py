"""Resolves the function that is called with a string: a sink under another name, or a function of the same file.

A sink is a function with a parameter that is a device, a backend or the like ([[sink]] of rules/*.toml).
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from porter.python.evidence import call_name
from porter.python.index import Link, Node
from porter.python.parameters import behind, is_static, positional
from porter.rulebook.table import Sink

if TYPE_CHECKING:
    from porter.python.file import Parsed

_INIT = "__init__"


class Callees:
    def __init__(self, file: Parsed, calls: dict[str, Sink]):
        self.names, self.calls, self.buckets = file.names, calls, file.buckets
        self._functions, self._path = file.facts.accelerators.functions, file.path

    @cached_property
    def made_devices(self) -> frozenset[str]:
        """Settings of which the file makes a device, whatever they are called: `torch.device(opt.dvc)`. One that is compared as
        well may mean more."""
        made, compared = set(), set()
        for link in self.buckets.get(ast.Attribute, ()):
            attribute, above = link[0], link[1][0]
            if above.__class__ is ast.Compare:
                compared.add(attribute.attr)
            elif above.__class__ is ast.Call and above.args[:1] == [attribute]:
                if self.names.resolve(above.func, link[1]) == "torch.device":
                    made.add(attribute.attr)
        return frozenset(made - compared)

    def sink(self, func: ast.Name, link: Link) -> Sink | None:
        """The sink behind a name that stands for one of several functions, all of which are known."""
        return self._imported_twice(func) or self._chosen(func, link)

    def _imported_twice(self, func: ast.Name) -> Sink | None:
        """The sink of a name that is imported from several modules of torch: `from torch import GradScaler`, and for an older
        torch `from torch.cuda.amp import GradScaler`."""
        if func.id in self.names.others:
            return None
        targets = {target for target, _ in self.names.imports.get(func.id, ())}
        if len({target.rpartition(".")[2] for target in targets}) != 1 or not all(
            target.startswith("torch.") for target in targets
        ):
            return None
        return next((self.calls[target] for target in sorted(targets) if target in self.calls), None)

    def _chosen(self, func: ast.Name, link: Link) -> Sink | None:
        """The sink of a name that is set to one of two functions: `scope = autocast if mixed else nullcontext`."""
        bindings = self.names.bindings(func.id, link)
        bound = self.names.once("parents", bindings, lambda: [b[1][0] for b in bindings if b[1] is not None])
        if len(bound) != 1 or bound[0].__class__ is not ast.Assign or bound[0].value.__class__ is not ast.IfExp:
            return None
        names = [self.names.resolve(side, link) for side in (bound[0].value.body, bound[0].value.orelse)]
        return next((self.calls[n] for n in names if n in self.calls), None) if all(names) else None

    def parameter(self, func: Node, index: int) -> str | None:
        """The name of the parameter at a position, if the called function or method is defined in this file."""
        func, before = behind(func)
        method = func.__class__ is ast.Attribute and getattr(func.value, "id", "") in ("self", "cls")
        if func.__class__ is not ast.Name and not method:
            return None
        function = self._first_of[method].get(call_name(func))
        if function is None:
            return None
        bound = method and not is_static(function)
        parameter = positional(function.args, index + before + bound)
        return parameter.arg if parameter else None

    def initial(self, func: Node, index: int) -> str | None:
        """The same for a class of this file that is called: a parameter of its own `__init__`."""
        func, before = behind(func)
        function = self._inits.get(func.id) if func.__class__ is ast.Name else None
        parameter = positional(function.args, index + before + 1) if function is not None else None
        return parameter.arg if parameter else None

    def elsewhere(self, func: Node, resolved: str | None, index: int) -> str:
        """The same for a function or class of another file, or a method of an object; "" where it is not known."""
        if resolved is None and func.__class__ is ast.Attribute:
            return self._functions.of_method(func.attr, index)
        return self._functions.parameter(resolved, self._path, index)

    @cached_property
    def _first_of(self) -> tuple[dict[str, Node], dict[str, Node]]:
        """The first function of each name, and the first method of each name."""
        firsts: tuple[dict[str, Node], dict[str, Node]] = {}, {}
        for name, links in self.names.scopes.functions.items():
            for link in links:
                firsts[link[1][0].__class__ is ast.ClassDef].setdefault(name, link[0])
        return firsts

    @cached_property
    def _inits(self) -> dict[str, Node]:
        """The `__init__` of each class whose name nothing else in the file has."""
        inits = {}
        for link in self.names.scopes.functions.get(_INIT, ()):
            owner = link[1][0]
            if owner.__class__ is ast.ClassDef and len(self.names.others.get(owner.name, ())) == 1:
                inits[owner.name] = link[0]
        return inits
