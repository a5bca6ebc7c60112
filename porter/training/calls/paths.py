"""Finds ways: chains of calls on which a training step may reach a function of another file in which the host may wait.

A function on a way is a node, (file, "function" or "Class.method"). This module looks only at names in the bytes. propagate.py
parses the files on a way and checks that the calls are really there.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from porter.project.modules import module_of
from porter.python.graphs import reached
from porter.python.waits import READS, SEARCHES
from porter.regex import lazy
from porter.training import by_class
from porter.training.beside import is_aside, telling
from porter.training.calls.classes import Class, Classes
from porter.training.calls.outline import Outline
from porter.training.frequency import BACKWARDS, STEPS

# texts at which the host may wait for the device
_WAITS = tuple(
    word.encode()
    for word in (
        *(f".{method}(" for method in sorted(READS)),
        *(f"{function}(" for function in (*SEARCHES, "masked_select", "empty_cache", "synchronize", "allclose")),
        *"torch.equal( .unique( .any( .all( .max()) .min()) .sum()) .mean()) .norm())".split(),
    )
)
# a selection by a mask or by indices; Python's own max and min, and conditions that compare
_PICKS = (
    lazy(rb"\[(?:~?\w*(?:mask|inds?|keep|kept|valid|visib|filter|pos|neg)\w*\]|[\w.]+ ?[<>!=]=? ?[-\w.]+\])"),
    lazy(rb"max\((?<![.\w]max\()"),
    lazy(rb"min\((?<![.\w]min\()"),
    lazy(rb"if [^\n]{0,400}(?:loss\w*|norm\w*|\w[])]) *[<>]"),
)
_STEPS = STEPS | {"forward"}
# a file with a step has one of these texts
_STEP = (*(f"def {name}".encode() for name in sorted(_STEPS)), *(f".{word}(".encode() for word in sorted(BACKWARDS)))
_TELLING = 10  # letters of a name that a project hardly gives to two things
_METHOD = lazy(rb"\.(\w{%d,})\(" % _TELLING)
_NAMED = 2  # an import of a function names one of this many last words of its file's path

Node = tuple[str, str]


class Ways(NamedTuple):
    """The calls that have to be looked for, and the files to look in."""

    # by function: the other files in which a step may call it, directly or through functions of its own file
    near: dict[Node, list[str]]
    # by function that may run for every batch: the functions that it may call in turn
    far: dict[Node, set[Node]]

    def wanted(self, path: str) -> set[Node]:
        """The functions whose calls are looked for in a file."""
        near = {node for node, files in self.near.items() if path in files}
        return near.union(*(nodes for caller, nodes in self.far.items() if caller[0] == path))


class Graph:
    """The possible calls of a project, followed upwards: from a function that may wait to functions that may call it."""

    def __init__(self, texts: Mapping[str, bytes]):
        self.outlines = {path: Outline(text) for path, text in texts.items()}
        self.classes = Classes(self.outlines)
        self._steps: dict[str, frozenset[str]] = {}

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        """By word, the files with this word in their imports."""
        importers: dict[str, list[str]] = {}
        for path, outline in self.outlines.items():
            for word in outline.imported:
                importers.setdefault(word, []).append(path)
        return importers

    def ways(self, asked: Iterable[str]) -> Ways:
        """The ways to the functions of these files in which the host may wait."""
        callees: dict[Node, set[Node]] = {}
        steps: set[Node] = set()
        todo = deque(node for path in asked if path in self.outlines for node in self._waiting(path))
        visited = {*todo}
        while todo:
            node = todo.popleft()
            for caller in self._callers(node):
                if self._is_step(caller):
                    steps.add(caller)
                elif not self._passes(caller):
                    continue
                elif caller not in visited:
                    visited.add(caller)
                    todo.append(caller)
                callees.setdefault(caller, set()).add(node)
        return _between(callees, steps)

    def _waiting(self, path: str) -> list[Node]:
        """The functions of a file in which the host may wait."""
        outline = self.outlines[path]
        text = outline.text
        places = [m.start() for word in _WAITS if word in text for m in re.finditer(re.escape(word), text)]
        places += [m.start() for picks in _PICKS for m in picks.finditer(text)]
        homes = {home for place in places if (home := outline.home(place))}
        return [(path, home) for home in sorted(homes) if self._passes((path, home))]

    def _is_step(self, node: Node) -> bool:
        path, name = node
        if path not in self._steps:
            outline = self.outlines[path]
            self._steps[path] = frozenset(
                call.home for word in BACKWARDS for call in outline.calls(word) if call.receiver
            )
        return name.rpartition(".")[2] in _STEPS or name in self._steps[path] or self._runs_by_class(path, name)

    def _passes(self, node: Node) -> bool:
        """Whether a function may run for every batch, by its name."""
        owner, _, name = node[1].rpartition(".")
        owner = telling(owner, self.outlines[node[0]].classes.get(owner, ()))[0]
        if name == "__call__":
            return not is_aside(owner)
        is_other = not name or name.startswith("__") or name in _STEPS
        return not is_other and not is_aside(name) and not is_aside(owner)

    def _runs_by_class(self, path: str, name: str) -> bool:
        owner, _, method = name.rpartition(".")
        outline = self.outlines[path]
        return bool(owner) and by_class.runs(
            owner, lambda: outline.classes.get(owner, ()), method, lambda: outline.has_forward(owner)
        )

    def _callers(self, node: Node) -> list[Node]:
        """The functions that may call this one, by names alone."""
        path, name = node
        owner, _, function = name.rpartition(".")
        callers: set[Node] = set()
        if not owner:
            words = module_of(path).split("/")[-_NAMED:]
            files = {
                file for file in self._importers.get(function, ()) if not self.outlines[file].imported.isdisjoint(words)
            }
            callers.update((file, call.home) for file in {path, *files} for call in self.outlines[file].calls(function))
            for file in self._importers.get(words[-1], ()):
                callers.update((file, call.home) for call in self.outlines[file].calls(function) if call.receiver)
            return sorted(callers)
        if self.is_unmistakable(function):
            calling = ((file, self.outlines[file].calls(function)) for file in self._calling.get(function, ()))
            return sorted({(file, call.home) for file, calls in calling for call in calls if call.receiver})
        family = self.classes.tree.family(Class(path, owner))
        names, homes = {cls.name for cls in family}, {cls.path for cls in family}
        for file in homes.union(*(self._importers.get(name, ()) for name in names)):
            outline = self.outlines[file]
            if function == "__call__":
                callers.update(
                    (file, call.home) for word in self._objects(outline, names) for call in outline.calls(word)
                )
            elif calls := outline.calls(function):
                receivers = {*self._objects(outline, names), *names, *(("self", "super()") if file in homes else ())}
                callers.update((file, call.home) for call in calls if call.receiver in receivers)
        return sorted(callers)

    def is_unmistakable(self, method: str) -> bool:
        """Whether a call of a method with this name, on whatever object, can only mean one class of the project."""
        says = "_" in method.strip("_") and len(method) >= _TELLING
        owners = self._owners.get(method, []) if says else []
        return len(owners) == 1 and owners[0] != ""

    @cached_property
    def _owners(self) -> dict[str, list[str]]:
        """By name of a method or a function, what defines it: see Outline.methods."""
        owners: dict[str, list[str]] = {}
        for outline in self.outlines.values():
            for method, classes in outline.methods.items():
                owners.setdefault(method, []).extend(classes)
        return owners

    @cached_property
    def _calling(self) -> dict[str, list[str]]:
        """By name of a method that only one class can mean, the files with a call of it."""
        calling: dict[str, list[str]] = {}
        for path, outline in self.outlines.items():
            for word in {match[1].decode() for match in _METHOD.finditer(outline.text)}:
                if self.is_unmistakable(word):
                    calling.setdefault(word, []).append(path)
        return calling

    @staticmethod
    def _objects(outline: Outline, names: set[str]) -> set[str]:
        """The names that a file has for objects of these classes."""
        return {
            word for name in names if name in outline.imported or name in outline.classes for word in outline.made(name)
        }


def has_steps(texts: Iterable[bytes]) -> bool:
    """Whether any of these texts may have a training step."""
    return any(word in text for text in texts for word in _STEP) or any(map(by_class.MAY_HAVE.search, texts))


def _between(ways: Mapping[Node, set[Node]], steps: set[Node]) -> Ways:
    """The ways from one file to another. Calls within the file of a step are left out: the analysis of that file finds them."""
    close = reached(steps, lambda caller: (node for node in ways.get(caller, ()) if node[0] == caller[0]))
    callers: dict[Node, set[Node]] = {}
    for caller, nodes in ways.items():
        for node in nodes:
            if node[0] == caller[0]:
                callers.setdefault(node, set()).add(caller)
    leaving = {caller for caller, nodes in ways.items() if any(node[0] != caller[0] for node in nodes)}
    leading = reached(leaving, lambda caller: callers.get(caller, ()))
    near: dict[Node, set[str]] = {}
    for caller in close & leaving:
        for node in ways[caller]:
            if node[0] != caller[0]:
                near.setdefault(node, set()).add(caller[0])
    served = reached(near, lambda caller: ways.get(caller, ()))
    far = {
        caller: {node for node in ways.get(caller, ()) if node[0] != caller[0] or node in leading} for caller in served
    }
    return Ways({node: sorted(near[node]) for node in sorted(near)}, far)
