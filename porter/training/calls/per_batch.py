"""Finds functions that run for every batch because a step, or a `forward`, of another file calls them.

Only files on a way to such a function (training/calls/paths.py) are parsed, and one step that calls it is enough. The answer
depends only on functions that may call it, so that an analysis of one file and one of all files agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from porter.engine.facts import Served
from porter.files.paths import never_trains
from porter.project.modules import module_of
from porter.python.kept import Remember
from porter.training.calls.rows import Row

_LARGEST = 500_000  # bytes; larger files are left out
# (path, text, names): the calls of functions with these names in a file, as rows
Calls = Callable[[str, bytes, frozenset[str]], tuple[tuple[Any, ...], ...]]


def served(
    texts: Mapping[str, bytes], remember: Remember, asked: Iterable[str] | None, calls: Calls
) -> tuple[Served, ...]:
    """All such functions in the files `asked`; None asks for all files."""
    modules = frozenset(map(module_of, texts))
    texts = {path: texts[path] for path in sorted(texts) if _may_train(path, texts[path])}
    asked = sorted(texts if asked is None else texts.keys() & asked)
    if not asked or len(texts) < 2:
        return ()
    from porter.training.calls.paths import has_steps  # not needed for most runs on one file

    if not has_steps(texts.values()):
        return ()
    digest = hashlib.blake2b("\0".join(("served", *sorted(modules), "", *asked)).encode())
    for path, text in texts.items():
        digest.update(path.encode() + b"\0" + hashlib.blake2b(text).digest())
    rows = remember(
        f"served\0{digest.hexdigest()}", lambda: tuple(map(tuple, _served(texts, modules, asked, remember, calls)))
    )
    return tuple(Served(*row) for row in rows)


def _served(
    texts: Mapping[str, bytes], modules: frozenset[str], asked: Iterable[str], remember: Remember, calls: Calls
) -> list[Served]:
    from porter.training.calls.paths import Graph
    from porter.training.calls.propagate import Walk

    def read(path: str, names: frozenset[str]) -> tuple[Row, ...]:
        digest = hashlib.sha256(texts[path]).hexdigest()
        rows = remember("\0".join(("calls", path, digest, *sorted(names))), lambda: calls(path, texts[path], names))
        return tuple(Row(*row) for row in rows)

    graph = Graph(texts)
    return sorted(Walk(graph, modules, read).over(graph.ways(asked)))


def _may_train(path: str, text: bytes) -> bool:
    return b"torch" in text and len(text) <= _LARGEST and not never_trains(path)
