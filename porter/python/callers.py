"""Which functions of a file the training step calls for every batch: its helpers run as often as it does."""

from __future__ import annotations

import ast
import weakref
from functools import cached_property

from .evidence import call_name
from .index import Link
from .occasions import is_aside, is_beside

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Callers:
    def __init__(self, scene):
        self._file, self._scene = scene.file, weakref.proxy(scene)  # which keeps this
        self._known: dict[ast.AST, bool] = {}

    @cached_property
    def _calls(self) -> dict[str, list[Link]]:
        """The calls of functions that the file defines, by the last word of what is called."""
        found: dict[str, list[Link]] = {link[0].name: [] for kind in _DEFS for link in self._file.buckets[kind]}
        for link in self._file.buckets[ast.Call]:
            if (calls := found.get(call_name(link[0].func))) is not None:
                calls.append(link)
        return found

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        return {link[0].name: link[0] for link in self._file.buckets[ast.ClassDef]}

    def serves(self, link: Link) -> bool:
        """Whether a function, by its link, is called for every batch by a step, by `forward`, or by another that is."""
        function = link[0]
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

    def hand_from_host(self, function: Link, name: str, names: list[str]) -> bool:
        """Whether every call of a function in the file gives it an argument that has been read back: `x.cpu()`."""
        above = function[1] and function[1][0]
        owner = above if above.__class__ is ast.ClassDef else None
        at = names.index(name) - (owner is not None)
        given = []
        for call in self._calls.get(function[0].name, ()):
            if self._means(call, owner):
                node = call[0]
                plain = node.args[at : at + 1] if at >= 0 else []
                given += [k.value for k in node.keywords if k.arg == name] or plain
        return bool(given) and all(
            g.__class__ is ast.Call and call_name(g.func) in ("cpu", "numpy", "tolist") for g in given
        )

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
