"""Walks from the steps along real calls to functions in other files. `per_batch.py` asks.

paths.py has found by names alone which functions may be called from where. Here the files on these ways are parsed, and only
real calls count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from porter.engine.facts import Served
from porter.project.modules import may_be
from porter.training.calls.classes import Class
from porter.training.calls.paths import Graph, Node, Ways
from porter.training.calls.rows import ANY, Row


class Walk:
    """`modules`: the modules of the project. `read`: the calls in a file of functions with one of these names, as rows."""

    def __init__(self, graph: Graph, modules: frozenset[str], read: Callable[[str, frozenset[str]], tuple[Row, ...]]):
        self._classes, self._modules, self._read = graph.classes, modules, read
        self._is_unmistakable = graph.is_unmistakable
        self._calls: dict[str, list[tuple[Node, Row]]] = {}  # by file

    def over(self, ways: Ways) -> Iterator[Served]:
        """The functions that run for every batch because a step of another file calls them, directly or through others."""
        settled: set[Node] = set()  # functions that a step calls directly; the first such file is enough
        known: set[Node] = set()  # functions that run for every batch
        caller_files: dict[Node, str] = {}  # by function, the file that a finding names
        for node, files in ways.near.items():
            for path in files:
                if any(called == node and row.always for called, row in self._calls_in(path, ways)):
                    settled.add(node)
                    known.add(node)
                    caller_files[node] = path
                    break
        todo = sorted(known)
        while todo:
            caller = todo.pop()
            if ways.far.get(caller, set()) <= settled:
                continue
            for node, row in self._calls_in(caller[0], ways):
                if node in settled or not row.always and row.home != caller[1]:
                    continue
                if node[0] != caller[0]:
                    caller_files[node] = min(caller_files.get(node, caller[0]), caller[0])
                if node not in known:
                    known.add(node)
                    todo.append(node)
        for node, path in caller_files.items():
            reads = [
                row.hosts
                for called, row in self._calls_in(path, ways)
                if called == node and (row.always or (path, row.home) in known)
            ]
            yield Served(*node, path, tuple(h for h in reads[0] if all(h in read for read in reads)))

    def _calls_in(self, path: str, ways: Ways) -> list[tuple[Node, Row]]:
        """The calls in a file, each with the wanted function that it calls."""
        if path not in self._calls:
            wanted = ways.wanted(path)
            names = frozenset(name.rpartition(".")[2] for _, name in wanted)
            self._calls[path] = [
                (node, row) for row in self._read(path, names) for node in self._meant(path, row, wanted)
            ]
        return self._calls[path]

    def _meant(self, path: str, row: Row, wanted: set[Node]) -> Iterator[Node]:
        """The wanted functions that a call may mean."""
        for node in sorted(wanted):
            owner, _, function = node[1].rpartition(".")
            if function != row.name or node == (path, row.home):
                continue
            if not owner:
                is_local = not row.full and not row.owner and node[0] == path
                if is_local or row.full and may_be(row.full, path, node[0], function, self._modules):
                    yield node
            elif row.owner == ANY:
                if self._is_unmistakable(function):
                    yield node
            elif row.full:
                if may_be(row.full.rpartition(".")[0], path, node[0], owner, self._modules):
                    yield node
            elif row.owner and (receiver := self._class(row, path)) is not None:
                cls = Class(node[0], owner)
                tree = self._classes.tree
                if cls in tree.line(receiver) or row.on_self and cls in tree.heirs(receiver):
                    yield node

    def _class(self, row: Row, path: str) -> Class | None:
        """The class whose method is called."""
        if row.on_self or "." not in row.owner:
            return Class(path, row.owner)
        name = row.owner.rpartition(".")[2]
        classes = [cls for cls in self._classes.named(name) if may_be(row.owner, path, cls.path, name, self._modules)]
        return classes[0] if len(classes) == 1 else None
