"""Finds functions of a file that the training step calls for every batch, directly or through others."""

from __future__ import annotations

import ast
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.graphs import ClassTree
from porter.python.index import Link, Node, ancestors, owner_of, walk
from porter.python.parameters import parameters
from porter.training import by_class
from porter.training.beside import is_aside, is_beside
from porter.training.branching import dependent_lines
from porter.training.callees import called, callee
from porter.training.frequency import STEPS
from porter.training.read_before import was_read_back
from porter.training.transfers import is_moved_behind

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class _Call(NamedTuple):
    number: int  # among the calls by its name, in the order of the file
    func: Node  # the expression that is called
    link: Link  # of the call
    on_self: bool  # a method of `self`


class Callers:
    def __init__(self, scene: AnyContext) -> None:
        self._file = scene.file
        self._scene: AnyContext = weakref.proxy(scene)  # weak, because the scene holds this object
        self._known: dict[Node, bool] = {}
        self._for_batches: dict[Node, list[Node] | None] = {}
        self._hosts: dict[Node, frozenset[str]] = {}
        self._given: dict[tuple[str, ast.ClassDef | None], dict[Any, bool]] = {}
        self._by_class: dict[str, dict[ast.ClassDef | None, list[_Call]]] = {}
        self._by_function: dict[str, dict[Node, list[_Call]]] = {}
        self._elsewhere = {served.name: served for served in self._file.facts.served_by(self._file.path)}

    @cached_property
    def _calls(self) -> dict[str, list[tuple[Node, Link]]]:
        """(expression that is called, call) by the last word of a function that the file defines; calls of objects are under
        "__call__"."""
        by_name: dict[str, list[tuple[Node, Link]]] = {
            link[0].name: [] for kind in _DEFS for link in self._file.buckets[kind]
        }
        for link in self._file.buckets[ast.Call]:
            for func in (*called(link[0]), *self._of_table(link)):
                if (calls := by_name.get(call_name(func))) is not None:
                    calls.append((func, link))
                elif (
                    "__call__" in by_name and (target := callee(self._scene, func, link)) and target.name == "__call__"
                ):
                    by_name["__call__"].append((func, link))
        return by_name

    def _of_table(self, call: Link) -> list[Node]:
        """The functions of `{"a": self.first, "b": self.second}`, of which `table[kind](x)` calls one."""
        func = call[0].func
        if func.__class__ is not ast.Subscript or func.value.__class__ is not ast.Name:
            return []
        tables = (v for v in values_of(self._scene.names, func.value, (func.value, call)) if isinstance(v, ast.Dict))
        return [v for table in tables for v in table.values if v.__class__ in (ast.Name, ast.Attribute)]

    @cached_property
    def _trains(self) -> bool:
        """Whether anything in the file runs for every batch by itself."""
        return bool(self._elsewhere or self._scene.steps) or any(
            link[0].name == "forward" or link[0].name in STEPS or self._runs_by_class(link)
            for link in self._file.buckets[ast.FunctionDef]
        )

    def _runs_by_class(self, link: Link) -> bool:
        owner = owner_of(link)
        return owner is not None and by_class.method_runs(owner, link[0].name)

    def serves(self, link: Link) -> bool:
        """Whether a function is called for every batch: by a step, by `forward`, or by a function that is called so. `link`: of
        its definition."""
        function = link[0]
        if not self._trains:
            return False
        if function not in self._known:
            self._known[function] = False  # the answer while we look, as it may call itself
            self._known[function] = self._is_called(link)
        return self._known[function]

    def _is_called(self, link: Link) -> bool:
        function, owner, around = link[0], owner_of(link), None
        if owner is None and link[1][0].__class__ is not ast.Module:
            around = self._scene.function(link)
            if around is None:
                return False
        if owner is not None and is_beside(owner):
            return False
        if function.name.startswith("__") and function.name != "__call__":
            return False
        # facts: a step of another file calls it
        if self._elsewhere and home(link) in self._elsewhere and not is_aside(function.name):
            return True
        calls = self._all_calls(link, around)
        aside = is_aside(function.name)  # such a function counts only if it returns the loss: `get_batch_metrics`
        # `matters` asks `serves` for the function around the call
        mattering = (call for call in calls if self._scene.matters((call.link[0].func, call.link)))
        return any(not aside or self._brings_loss(call.link) for call in mattering)

    def _all_calls(self, link: Link, around: Link | None) -> list[_Call]:
        """The calls of a function of the file. `around`: the function that it is defined in, if there is one."""
        name = link[0].name
        return self._calls_of(name, owner_of(link)) if around is None else self._inside(name).get(around[0], [])

    def for_batches(self, link: Link) -> list[Node] | None:
        """All calls of a function that run for every batch. None where not all are known: other files call it, or it is passed to
        a function that calls it."""
        if link[0] not in self._for_batches:
            self._for_batches[link[0]] = None  # the answer while we look, as it may call itself
            self._for_batches[link[0]] = self._seen_for_batches(link)
        return self._for_batches[link[0]]

    def _seen_for_batches(self, link: Link) -> list[Node] | None:
        if home(link) in self._elsewhere:
            return None
        is_inner = owner_of(link) is None and link[1][0].__class__ is not ast.Module
        calls = self._all_calls(link, self._scene.function(link) if is_inner else None)
        calls = [call for call in calls if self._scene.matters((call.link[0].func, call.link))]
        return None if any(call.func is not call.link[0].func for call in calls) else [call.link[0] for call in calls]

    def _brings_loss(self, call: Link) -> bool:
        """Whether the result of a call is assigned to a loss of the step."""
        above = call[1] and call[1][0]
        if above.__class__ is not ast.Assign:
            return False
        names = {n.id for target in above.targets for n in walk(target) if n.__class__ is ast.Name}
        return not names.isdisjoint(self._scene.losses(call))

    def read_back(self, function: Link) -> frozenset[str]:
        """The parameters of a function that are on the host already: every known call passes a value like `x.cpu()`."""
        if function[0] not in self._hosts:
            given: dict[str, list[bool]] = {}
            owner = owner_of(function)
            names = parameters(function[0])[owner is not None :]
            for parameter, read in self._handed(function[0].name, owner).items():
                if parameter.__class__ is not int or parameter < len(names):
                    given.setdefault(names[parameter] if parameter.__class__ is int else parameter, []).append(read)
            if (elsewhere := self._elsewhere.get(home(function) or "")) is not None:
                for index, name in enumerate(names):
                    given.setdefault(name, []).append(not {str(index), name}.isdisjoint(elsewhere.hosts))
            self._hosts[function[0]] = frozenset(name for name, values in given.items() if all(values))
        return self._hosts[function[0]]

    def _handed(self, name: str, owner: ast.ClassDef | None) -> dict[Any, bool]:
        """By position or keyword, whether all calls pass a value that was read back to the host."""
        if (name, owner) not in self._given:
            handed = self._given[name, owner] = {}
            for _, func, call, _ in self._calls_of(name, owner):
                if func is call[0].func:
                    on_host = is_moved_behind(call)
                    for parameter, value in (*enumerate(call[0].args), *((k.arg, k.value) for k in call[0].keywords)):
                        is_read = handed.get(parameter, True) and (on_host or was_read_back(self._scene, value, call))
                        handed[parameter] = is_read
        return self._given[name, owner]

    def served_by(self, line: int) -> str:
        """The file whose step calls the function around a line for every batch, by the facts of the project. "" where no other
        file does, or where it depends on the arguments whether the line runs, as other callers may pass others."""
        served = next(((f, by) for f, by in self._served if f.lineno <= line <= f.end_lineno), None)
        return served[1] if served and line not in dependent_lines(served[0]) else ""

    @cached_property
    def _served(self) -> list[tuple[Node, str]]:
        """(function, file) of the functions that steps of other files call."""
        links = (link for kind in _DEFS if self._elsewhere for link in self._file.buckets[kind])
        pairs = ((link[0], self._elsewhere.get(home(link) or "")) for link in links)
        return [(function, served.by) for function, served in pairs if served]

    def _calls_by_class(self, name: str) -> dict[ast.ClassDef | None, list[_Call]]:
        """The calls of functions and methods with this name, by the class of the object; None for functions."""
        if name not in self._by_class:
            calls = self._by_class[name] = {}
            for number, (func, call) in enumerate(self._calls.get(name, ())):
                target = callee(self._scene, func, call)
                owner: Any = target and target.owner
                if target is not None and (owner.__class__ is ast.ClassDef or owner is None and not target.full):
                    calls.setdefault(owner, []).append(_Call(number, func, call, target.on_self))
        return self._by_class[name]

    def _calls_of(self, name: str, owner: ast.ClassDef | None) -> list[_Call]:
        """The calls of a top-level function, or of a method: those on objects of the class or of classes that derive from it, and
        those on `self` in a base class."""
        calls = self._calls_by_class(name)
        if owner is None:
            return calls.get(None, [])
        above = calls.keys() & self._tree.line(owner)
        below = calls.keys() & self._tree.heirs(owner)
        return sorted(call for cls in above | below for call in calls[cls] if call.on_self or cls in below)

    def _inside(self, name: str) -> dict[Node, list[_Call]]:
        """The calls of functions with this name, by each function around them."""
        if name not in self._by_function:
            calls = self._by_function[name] = {}
            for call in self._calls_of(name, None):
                for above in ancestors(call.link):
                    if above[0].__class__ in _DEFS:
                        calls.setdefault(above[0], []).append(call)
        return self._by_function[name]

    @cached_property
    def _tree(self) -> ClassTree[ast.ClassDef]:
        """The classes of the file and their bases in it."""
        classes = self._scene.classes
        bases = (
            (link[0], (classes.get(call_name(base)) for base in link[0].bases))
            for link in self._file.buckets[ast.ClassDef]
        )
        return ClassTree({cls: [base for base in known if base is not None] for cls, known in bases})


def home(link: Link) -> str | None:
    """ "function" or "Class.method" for the link of a definition; None for definitions inside of functions or inner classes."""
    above = link[1]
    if above[0].__class__ is ast.ClassDef and above[1][0].__class__ is ast.Module:
        return f"{above[0].name}.{link[0].name}"
    return link[0].name if above[0].__class__ is ast.Module else None
