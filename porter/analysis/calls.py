"""Lists the calls of one file as rows.

`run/gather.py` hands `calls` to `training/calls/per_batch.py`, which follows the calls from a step into other files.
`training/callers.py` reads the calls within one file in the same way; tests/training/test_per_batch.py holds both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from porter.analysis.session import open_session
from porter.errors import Unreadable
from porter.python.evidence import call_name
from porter.python.index import Link
from porter.training.callees import Callee, called, callee
from porter.training.callers import home
from porter.training.calls.rows import ANY, Row
from porter.training.context import CALLED
from porter.training.read_before import was_read_back

if TYPE_CHECKING:
    from porter.training.scene import Scene


def calls(path: str, text: bytes, names: frozenset[str]) -> tuple[tuple[Any, ...], ...]:
    """A row (Row) for each call of one of `names` in a file: what is called, and by which function. A call that runs for every
    batch by itself needs no caller: its row says `always`. The rows are tuples, which the cache can keep."""
    from porter.analysis.file import File
    from porter.python.source import Source

    try:
        file = File(path, Source(text), open_session())  # kept in a variable: its scene holds it weakly
        return tuple(sorted({tuple(row) for row in _rows(file.scene, names)}))
    except (Unreadable, RecursionError):
        return ()


def _rows(scene: Scene, names: frozenset[str]) -> Iterator[Row]:
    objects = "__call__" in names  # then any name may be that of an object that is called
    imports = scene.names.imports.items()
    spelled = {name for name, bound in imports if any(full.rpartition(".")[2] in names for full, _ in bound)}
    spelled |= names
    for link in scene.file.buckets[ast.Call]:
        for func in called(link[0]):
            if not objects and call_name(func) not in spelled:
                continue
            resolved = callee(scene, func, link) or _on_anything(func)
            if resolved is None or resolved.name not in names:
                continue
            place = (link[0].func, link)
            if scene.matters(place):
                yield _row(scene, func, link, resolved, "", True)
            elif (
                not scene.rarely(place, CALLED)
                and (around := scene.function(place)) is not None
                and (name := home(around))
            ):
                yield _row(scene, func, link, resolved, name, False)


def _on_anything(func: ast.expr) -> Callee | None:
    """A method of an object whose class is not known, such as a parameter."""
    return Callee(func.attr, ANY) if isinstance(func, ast.Attribute) else None


def _row(scene: Scene, func: ast.expr, link: Link, resolved: Callee, name: str, always: bool) -> Row:
    call = link[0]
    owner: Any = resolved.owner
    given = ((str(index), value) for index, value in enumerate(call.args) if func is call.func)
    values = (*given, *((k.arg or "", k.value) for k in call.keywords))
    hosts = (key for key, value in values if was_read_back(scene, value, link))
    owner_name = owner.name if owner.__class__ is ast.ClassDef else owner or ""
    return Row(
        home=name,
        name=resolved.name,
        full=resolved.full,
        owner=owner_name,
        on_self=resolved.on_self,
        always=always,
        hosts=tuple(hosts),
    )
