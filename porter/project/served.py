"""Which functions of a file run for every batch because a step, or a `forward`, in another file calls them.

Only files that lie on a way to one (project/ways.py) are parsed, and of the steps that may call it one is enough. What is
said of a function depends on those that may call it and on nothing else, so that a look at one file and a look at all agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from porter.project.heirs import Class
from porter.project.kernels import Remember
from porter.project.ways import Graph, Node, Ways, has_steps, module_of
from porter.python.occasions import never_trains

_LARGEST = 500_000


class Row(NamedTuple):
    """One call of a function by a name that is asked for."""

    home: str  # where it stands: "function" or "Class.method"
    name: str
    full: str  # of a function that is imported
    owner: str  # of a method: a class of the file, or the full name of another's
    own: bool  # it is `self` whose method is called
    always: bool  # a step calls it for every batch, whoever calls the function around
    hosts: tuple[str, ...]  # what is handed over after it was read back: keywords, and places as numbers


class Served(NamedTuple):
    path: str
    name: str  # "function" or "Class.method"
    by: str  # the first file that calls it
    hosts: tuple[str, ...] = ()  # what it is handed there after it was read back: names, and places as numbers


def served(texts: Mapping[str, bytes], remember: Remember, asked: Iterable[str] | None = None) -> tuple[Served, ...]:
    """`asked`: the files that somebody wants to know it of."""
    modules = frozenset(map(module_of, texts))
    texts = {path: texts[path] for path in sorted(texts) if _may_train(path, texts[path])}
    asked = sorted(texts if asked is None else texts.keys() & asked)
    if not asked or not has_steps(texts.values()):
        return ()
    said = hashlib.blake2b("\0".join(("served", *sorted(modules), "", *asked)).encode())
    for path, text in texts.items():
        said.update(path.encode() + b"\0" + hashlib.blake2b(text).digest())
    rows = remember(f"served\0{said.hexdigest()}", lambda: tuple(map(tuple, _served(texts, modules, asked, remember))))
    return tuple(Served(*row) for row in rows)


def _served(texts: Mapping[str, bytes], modules: frozenset[str], asked: Iterable[str], remember: Remember):
    from porter.python.calls import calls

    def read(path: str, names: frozenset[str]) -> tuple[Row, ...]:
        said = hashlib.sha256(texts[path]).hexdigest()
        rows = remember("\0".join(("calls", path, said, *sorted(names))), lambda: calls(path, texts[path], names))
        return tuple(Row(*row) for row in rows)

    graph = Graph(texts)
    return sorted(_Walk(graph, modules, read).over(graph.ways(asked)))


def _may_train(path: str, text: bytes) -> bool:
    return b"torch" in text and len(text) <= _LARGEST and not never_trains(path)


class _Walk:
    """From the steps, along calls that are seen."""

    def __init__(self, graph: Graph, modules: frozenset[str], read: Callable[[str, frozenset[str]], tuple[Row, ...]]):
        self._heirs, self._modules, self._read = graph.heirs, modules, read
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
                if of == at or of in self._heirs.above(at) or row.own and of in self._heirs.below(at):
                    yield node

    def _class(self, row: Row, path: str) -> Class | None:
        """Whose method a call calls."""
        if row.own or "." not in row.owner:
            return Class(path, row.owner)
        last = row.owner.rpartition(".")[2]
        found = [of for of in self._heirs.named(last) if may_be(row.owner, path, of.path, last, self._modules)]
        return found[0] if len(found) == 1 else None


def may_be(full: str, user: str, path: str, name: str, modules: frozenset[str] = frozenset()) -> bool:
    """Whether `full`, as a file calls what it imports, is what `path` defines by this name, or a package hands on from it.

    `modules`: the modules and packages of the project; of several that an import can mean, the nearest is meant."""
    bare = full.lstrip(".")
    level, (*module, last) = len(full) - len(bare), bare.split(".")
    if last != name:
        return False
    words, folder = module_of(path).split("/"), user.split("/")[:-1]
    if level:
        folder = folder[: len(folder) - level + 1]
        return words[: len(folder) + len(module)] == [*folder, *module]
    size = len(module)
    for above in range(len(folder), -1, -1) if module else ():
        whole = [*folder[:above], *module]
        if "/".join(whole) in modules:
            return words[: len(whole)] == whole
    return bool(module) and any(words[n : n + size] == module for n in range(len(words) - size + 1))
