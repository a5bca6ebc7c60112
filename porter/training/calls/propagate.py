"""From the steps to what they run in other files, along calls that are seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from porter.engine.facts import Served
from porter.project.modules import may_be
from porter.training.calls.classes import Class
from porter.training.calls.paths import Graph, Node, Ways
from porter.training.calls.rows import Row


class Walk:
    def __init__(self, graph: Graph, modules: frozenset[str], read: Callable[[str, frozenset[str]], tuple[Row, ...]]):
        self._classes, self._modules, self._read = graph.classes, modules, read
        self._calls: dict[str, list[tuple[Node, Row]]] = {}  # those of a file that has been looked at

    def over(self, ways: Ways) -> Iterator[Served]:
        settled, known, by = set(), set(), {}
        for node, files in ways.near.items():
            for path in files:
                if any(of == node and row.always for of, row in self._of(path, ways)):
                    settled.add(node)
                    known.add(node)
                    by[node] = path
                    break
        todo = sorted(known)
        while todo:
            at = todo.pop()
            if ways.far.get(at, set()) <= settled:
                continue
            for node, row in self._of(at[0], ways):
                if node in settled or not row.always and row.home != at[1]:
                    continue
                if node[0] != at[0]:
                    by[node] = min(by.get(node, at[0]), at[0])
                if node not in known:
                    known.add(node)
                    todo.append(node)
        for node, path in by.items():
            reads = [
                row.hosts
                for of, row in self._of(path, ways)
                if of == node and (row.always or (path, row.home) in known)
            ]
            yield Served(*node, path, tuple(h for h in reads[0] if all(h in read for read in reads)))

    def _of(self, path: str, ways: Ways) -> list[tuple[Node, Row]]:
        """The calls of a file, of what is wanted there."""
        if path not in self._calls:
            wanted = ways.wanted(path)
            names = frozenset(name.rpartition(".")[2] for _, name in wanted)
            self._calls[path] = [
                (node, row) for row in self._read(path, names) for node in self._meant(path, row, wanted)
            ]
        return self._calls[path]

    def _meant(self, path: str, row: Row, wanted: set[Node]) -> Iterator[Node]:
        """Those of the wanted functions that a call calls."""
        for node in sorted(wanted):
            owner, _, last = node[1].rpartition(".")
            if last != row.name or node == (path, row.home):
                continue
            if not owner:
                own = not row.full and not row.owner and node[0] == path
                if own or row.full and may_be(row.full, path, node[0], last, self._modules):
                    yield node
            elif row.full:
                if may_be(row.full.rpartition(".")[0], path, node[0], owner, self._modules):
                    yield node
            elif row.owner and (at := self._class(row, path)) is not None:
                of = Class(node[0], owner)
                tree = self._classes.tree
                if of in tree.line(at) or row.own and of in tree.heirs(at):
                    yield node

    def _class(self, row: Row, path: str) -> Class | None:
        """Whose method a call calls."""
        if row.own or "." not in row.owner:
            return Class(path, row.owner)
        last = row.owner.rpartition(".")[2]
        found = [of for of in self._classes.named(last) if may_be(row.owner, path, of.path, last, self._modules)]
        return found[0] if len(found) == 1 else None
