"""Which functions of a file the training step calls for every batch: its helpers run as often as it does."""

from __future__ import annotations

import ast
import weakref
from functools import cached_property

from .evidence import call_name
from .index import Link
from .occasions import is_aside, is_beside
from .parameters import parameters

STEPS = frozenset({"training_step", "train_step", "compute_loss"})  # Lightning, trainers: their loop is elsewhere
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Callers:
    def __init__(self, scene):
        self._file, self._scene = scene.file, weakref.proxy(scene)  # which keeps this
        self._known: dict[ast.AST, bool] = {}
        self._hosts: dict[ast.AST, frozenset[str]] = {}

    @cached_property
    def _calls(self) -> dict[str, list[Link]]:
        """The calls of functions that the file defines, by the last word of what is called."""
        found: dict[str, list[Link]] = {link[0].name: [] for kind in _DEFS for link in self._file.buckets[kind]}
        for link in self._file.buckets[ast.Call]:
            if (calls := found.get(call_name(link[0].func))) is not None:
                calls.append(link)
        return found

    @cached_property
    def _trains(self) -> bool:
        """Whether anything in the file runs for every batch by itself."""
        return bool(self._scene.steps) or any(
            link[0].name == "forward" or link[0].name in STEPS for link in self._file.buckets[ast.FunctionDef]
        )

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        return {link[0].name: link[0] for link in self._file.buckets[ast.ClassDef]}

    def serves(self, link: Link) -> bool:
        """Whether a function, by its link, is called for every batch by a step, by `forward`, or by another that is."""
        function = link[0]
        if not self._trains:
            return False
        if function not in self._known:
            self._known[function] = False  # while it is looked at: it may call itself
            self._known[function] = self._is_called(link)
        return self._known[function]

    def _is_called(self, link: Link) -> bool:
        function, above = link[0], link[1] and link[1][0]
        owner = above if above.__class__ is ast.ClassDef else None
        if owner is None and above.__class__ is not ast.Module or owner is not None and is_beside(owner):
            return False
        if is_aside(function.name) or function.name.startswith("__"):
            return False
        for call in self._calls.get(function.name, ()):
            if self._means(call, owner) and self._scene.matters((call[0].func, call)):
                return True
        return False

    def read_back(self, function: Link) -> frozenset[str]:
        """The parameters of a function that every call in the file hands what has been read back: `x.cpu()`."""
        if function[0] not in self._hosts:
            given: dict[str, list[ast.expr]] = {}
            above = function[1] and function[1][0]
            owner = above if above.__class__ is ast.ClassDef else None
            names = parameters(function[0])[owner is not None :]
            for call in self._calls.get(function[0].name, ()):
                if self._means(call, owner):
                    for name, value in (*zip(names, call[0].args), *((k.arg, k.value) for k in call[0].keywords)):
                        given.setdefault(name, []).append(value)
            self._hosts[function[0]] = frozenset(name for name, values in given.items() if all(map(_reads, values)))
        return self._hosts[function[0]]

    def _means(self, call: Link, owner: ast.ClassDef | None) -> bool:
        """Whether a call is one of a function of the module, or of a method of this class."""
        func = call[0].func
        if owner is None or func.__class__ is ast.Name:
            return owner is None and func.__class__ is ast.Name
        around = next((a for a in _above(call) if a.__class__ is ast.ClassDef), None)
        if getattr(func.value, "id", "") == "self":
            return around is not None and (owner in self._line(around) or around in self._line(owner))
        if func.value.__class__ is not ast.Attribute or getattr(func.value.value, "id", "") != "self" or around is None:
            return False
        made = self._file.receivers.members(around).get(func.value.attr, ())
        return any(v.__class__ is ast.Call and call_name(v.func) == owner.name for v in made)

    def _line(self, owner: ast.ClassDef) -> list[ast.ClassDef]:
        """A class and those of the file that it derives from."""
        found = [owner]
        for one in found:
            for base in one.bases:
                known = self._classes.get(call_name(base))
                if known is not None and known not in found:
                    found.append(known)
        return found


def _above(link: Link):
    while (link := link[1]) is not None:
        yield link[0]


def _reads(node: ast.expr) -> bool:
    return node.__class__ is ast.Call and call_name(node.func) in ("cpu", "numpy", "tolist")
