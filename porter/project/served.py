"""Which functions of a file run for every batch because a step, or a `forward`, in another file calls them.

Names first: whoever may lead from a step to a function in which the host may wait is found in the bytes of the files
(project/outlines.py). Only the files on such a way are parsed, until each function is either seen to be called or is not.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from porter.project.heirs import Class, Heirs
from porter.project.kernels import Remember
from porter.project.outlines import Outline
from porter.python.occasions import STEPS, is_aside, never_trains

_WAITS = tuple(
    word.encode()
    for word in """.item( .tolist( .cpu( .numpy( nonzero( .unique( argwhere( masked_select( empty_cache( synchronize( allclose(
    torch.equal( .any( .all( .max()) .min()) .sum()) .mean()) .norm())""".split()
)
_PICKS = re.compile(rb"\[(?:~?\w*(?:mask|inds?|keep|valid|pos|neg)\w*\]|[\w.]+ ?[<>!=]=? ?[-\w.]+\])")
_STEPS = STEPS | {"forward"}
_STEP = (*(f"def {name}".encode() for name in sorted(_STEPS)), b".backward(")
_FARTHEST = 4  # calls between a step and what it runs
_NAMED = 2  # the last words of a file's path, one of which an import of what it defines names
_LARGEST = 500_000

Node = tuple[str, str]  # (file, "function" or "Class.method")


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
    by: str  # the file that calls it
    hosts: tuple[str, ...] = ()  # what it is handed after it was read back: names, and places as numbers


def served(texts: Mapping[str, bytes], remember: Remember) -> tuple[Served, ...]:
    files = frozenset(map(_module, texts))
    texts = {path: texts[path] for path in sorted(texts) if _may_train(path, texts[path])}
    if not any(any(word in text for word in _STEP) for text in texts.values()):
        return ()

    def read(path: str, names: frozenset[str]) -> tuple[Row, ...]:
        from porter.python.calls import calls

        said = hashlib.sha256(texts[path]).hexdigest()
        rows = remember("\0".join(("calls", path, said, *sorted(names))), lambda: calls(path, texts[path], names))
        return tuple(Row(*row) for row in rows)

    return tuple(_Graph(texts, files).served(read))


def _may_train(path: str, text: bytes) -> bool:
    return b"torch" in text and len(text) <= _LARGEST and not never_trains(path)


class _Graph:
    def __init__(self, texts: Mapping[str, bytes], files: frozenset[str]):
        self._files = files
        self.outlines = {path: Outline(text) for path, text in texts.items()}
        self.heirs = Heirs(self.outlines)
        self._steps: dict[str, frozenset[str]] = {}

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        """The files that name a word in what they import."""
        found: dict[str, list[str]] = {}
        for path, outline in self.outlines.items():
            for word in outline.imported:
                found.setdefault(word, []).append(path)
        return found

    def served(self, read: Callable[[str, frozenset[str]], tuple[Row, ...]]) -> Iterator[Served]:
        """Walks from the steps along calls that are seen; a file is parsed once, and only if something in it is open yet."""
        wanted, starts = self._ways()
        calls: dict[Node, list[tuple[Node, Row]]] = {}
        done: dict[Node, Served] = {}
        known: set[Node] = set()
        looked: set[str] = set()
        todo = {*starts}
        while todo:  # first the file with the most that is open
            path = min(todo, key=lambda path: (-len(wanted[path] - known), path))
            todo.discard(path)
            if not wanted[path] - known:
                break
            looked.add(path)
            names = frozenset(name.rpartition(".")[2] for _, name in wanted[path])
            for row in read(path, names):
                for node in self._meant(path, row, wanted[path]):
                    calls.setdefault((path, row.home), []).append((node, row))
            fresh = deque((at, node, row) for at, several in calls.items() if at[0] == path for node, row in several)
            while fresh:
                at, node, row = fresh.popleft()
                if not row.always and at not in known:
                    continue
                if node[0] != at[0]:
                    hosts = row.hosts if node not in done else tuple(h for h in done[node].hosts if h in row.hosts)
                    done[node] = Served(*node, done[node].by if node in done else at[0], hosts)
                if node not in known:
                    known.add(node)
                    fresh += ((node, after, of) for after, of in calls.get(node, ()))
                    if node[0] not in looked and node[0] in wanted:
                        todo.add(node[0])
        yield from sorted(done.values())

    def _ways(self) -> tuple[dict[str, set[Node]], set[str]]:
        """Of each file, the functions that it may call on the way from a step to one that may wait; and the files with steps."""
        ways: dict[Node, set[Node]] = {}
        steps: set[Node] = set()
        seen = dict.fromkeys(self._waiting(), 0)
        todo = deque(seen)
        while todo:
            node = todo.popleft()
            for caller in self._callers(node):
                if self._is_step(caller):
                    steps.add(caller)
                elif not _passes(caller) or seen[node] == _FARTHEST:
                    continue
                elif caller not in seen:
                    seen[caller] = seen[node] + 1
                    todo.append(caller)
                ways.setdefault(caller, set()).add(node)
        return self._wanted(ways, steps)

    @staticmethod
    def _wanted(ways: Mapping[Node, set[Node]], steps: set[Node]) -> tuple[dict[str, set[Node]], set[str]]:
        """What a step calls in its own file is known there; of that, only calls into other files are open."""
        near = _closure(steps, lambda at: (node for node in ways.get(at, ()) if node[0] == at[0]))
        callers: dict[Node, set[Node]] = {}
        for at, nodes in ways.items():
            for node in nodes:
                if node[0] == at[0]:
                    callers.setdefault(node, set()).add(at)
        leaving = {at for at, nodes in ways.items() if any(node[0] != at[0] for node in nodes)}
        leading = _closure(leaving, lambda at: callers.get(at, ()))
        first = {at: {node for node in ways[at] if node[0] != at[0]} for at in near & leaving}
        wanted: dict[str, set[Node]] = {}
        for at, nodes in first.items():
            wanted.setdefault(at[0], set()).update(nodes)
        for at in _closure(set().union(*first.values()), lambda at: ways.get(at, ())):
            open_nodes = {node for node in ways.get(at, ()) if node[0] != at[0] or node in leading}
            if open_nodes:
                wanted.setdefault(at[0], set()).update(open_nodes)
        return wanted, {path for path, _ in first}

    def _waiting(self) -> Iterator[Node]:
        for path, outline in self.outlines.items():
            places = [
                m.start() for word in _WAITS if word in outline.text for m in re.finditer(re.escape(word), outline.text)
            ]
            places += [m.start() for m in _PICKS.finditer(outline.text)]
            homes = {outline.home(place) for place in places} - {None, ""}
            yield from ((path, home) for home in sorted(homes) if _passes((path, home)))

    def _is_step(self, node: Node) -> bool:
        path, name = node
        if path not in self._steps:
            outline = self.outlines[path]
            self._steps[path] = frozenset(call.home for call in outline.calls("backward") if call.receiver)
        return name.rpartition(".")[2] in _STEPS or name in self._steps[path]

    def _callers(self, node: Node) -> list[Node]:
        """The functions that may call it, by names alone."""
        path, name = node
        owner, _, last = name.rpartition(".")
        found: set[Node] = set()
        if not owner:
            words = _module(path).split("/")[-_NAMED:]
            files = {
                file for file in self._importers.get(last, ()) if not self.outlines[file].imported.isdisjoint(words)
            }
            found.update((file, call.home) for file in {path, *files} for call in self.outlines[file].calls(last))
            for file in self._importers.get(words[-1], ()):
                found.update((file, call.home) for call in self.outlines[file].calls(last) if call.receiver)
            return sorted(found)
        family = self.heirs.family(Class(path, owner))
        names, homes = {of.name for of in family}, {of.path for of in family}
        for file in homes.union(*(self._importers.get(name, ()) for name in names)):
            outline = self.outlines[file]
            if last == "__call__":
                found.update(
                    (file, call.home) for word in self._objects(outline, names) for call in outline.calls(word)
                )
            elif calls := outline.calls(last):
                words = {*self._objects(outline, names), *names, *(("self", "super()") if file in homes else ())}
                found.update((file, call.home) for call in calls if call.receiver in words)
        return sorted(found)

    @staticmethod
    def _objects(outline: Outline, names: set[str]) -> set[str]:
        """What a file calls its objects of these classes."""
        return {
            word for name in names if name in outline.imported or name in outline.classes for word in outline.made(name)
        }

    def _meant(self, path: str, row: Row, wanted: set[Node]) -> Iterator[Node]:
        """Those of the wanted functions that a call calls."""
        for node in sorted(wanted):
            owner, _, last = node[1].rpartition(".")
            if last != row.name or node == (path, row.home):
                continue
            if not owner:
                own = not row.full and not row.owner and node[0] == path
                if own or row.full and may_be(row.full, path, node[0], last, self._files):
                    yield node
            elif row.full:
                if may_be(row.full.rpartition(".")[0], path, node[0], owner, self._files):
                    yield node
            elif row.owner and (at := self._class(row, path)) is not None:
                of = Class(node[0], owner)
                if of == at or of in self.heirs.above(at) or row.own and of in self.heirs.below(at):
                    yield node

    def _class(self, row: Row, path: str) -> Class | None:
        """Whose method a call calls."""
        if row.own or "." not in row.owner:
            return Class(path, row.owner)
        last = row.owner.rpartition(".")[2]
        found = [of for of in self.heirs.named(last) if may_be(row.owner, path, of.path, last, self._files)]
        return found[0] if len(found) == 1 else None


def _closure(nodes: Iterable[Node], step: Callable[[Node], Iterable[Node]]) -> set[Node]:
    found, todo = {*nodes}, [*nodes]
    while todo:
        fresh = {*step(todo.pop())} - found
        found |= fresh
        todo += fresh
    return found


def _passes(node: Node) -> bool:
    """Whether, by its name, a function may run for every batch."""
    owner, _, name = node[1].rpartition(".")
    if name == "__call__":
        return not is_aside(owner)
    return (
        bool(name) and not name.startswith("__") and name not in _STEPS and not is_aside(name) and not is_aside(owner)
    )


def may_be(full: str, user: str, path: str, name: str, files: frozenset[str] = frozenset()) -> bool:
    """Whether `full`, as a file calls what it imports, is what `path` defines by this name, or a package hands on from it.

    `files`: the modules and packages of the project; of several that an import can mean, the nearest is meant."""
    bare = full.lstrip(".")
    level, (*module, last) = len(full) - len(bare), bare.split(".")
    if last != name:
        return False
    words, folder = _module(path).split("/"), user.split("/")[:-1]
    if level:
        folder = folder[: len(folder) - level + 1]
        return words[: len(folder) + len(module)] == [*folder, *module]
    size = len(module)
    for above in range(len(folder), -1, -1) if module else ():
        whole = [*folder[:above], *module]
        if "/".join(whole) in files:
            return words[: len(whole)] == whole
    return bool(module) and any(words[n : n + size] == module for n in range(len(words) - size + 1))


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__")
