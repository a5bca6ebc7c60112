"""Which functions of a file run for every batch because a step, or a `forward`, in another file calls them.

Only files that lie on a way to one (project/ways.py) are parsed, and of the steps that may call it one is enough. What is
said of a function depends on those that may call it and on nothing else, so that a look at one file and a look at all agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from porter.project.kernels import Remember
from porter.project.modules import module_of
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
    if not asked or len(texts) < 2:
        return ()
    from porter.project.ways import has_steps  # most looks are at one file that nothing else concerns

    if not has_steps(texts.values()):
        return ()
    said = hashlib.blake2b("\0".join(("served", *sorted(modules), "", *asked)).encode())
    for path, text in texts.items():
        said.update(path.encode() + b"\0" + hashlib.blake2b(text).digest())
    rows = remember(f"served\0{said.hexdigest()}", lambda: tuple(map(tuple, _served(texts, modules, asked, remember))))
    return tuple(Served(*row) for row in rows)


def _served(texts: Mapping[str, bytes], modules: frozenset[str], asked: Iterable[str], remember: Remember):
    from porter.project.walk import Walk
    from porter.project.ways import Graph
    from porter.python.calls import calls

    def read(path: str, names: frozenset[str]) -> tuple[Row, ...]:
        said = hashlib.sha256(texts[path]).hexdigest()
        rows = remember("\0".join(("calls", path, said, *sorted(names))), lambda: calls(path, texts[path], names))
        return tuple(Row(*row) for row in rows)

    graph = Graph(texts)
    return sorted(Walk(graph, modules, read).over(graph.ways(asked)))


def _may_train(path: str, text: bytes) -> bool:
    return b"torch" in text and len(text) <= _LARGEST and not never_trains(path)
