"""Fact files in a process of `porter fleet`: that of a library is made, and those of all libraries go into an analysis."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from porter.commands.job import prepare
from porter.commands.settings import choose_target, root_of
from porter.files.documents import Json
from porter.fleet.layout import ROW, with_key
from porter.fleet.libraries import Shared, package_in, row_of, shared
from porter.reach.known import read, target_of
from porter.run import config


def analyse_library(root: str, name: str, options: dict[str, Any], result: str, key: str) -> None:
    """The same calls as those of porter/commands/library.py, and so the same bytes."""
    from porter.collector import tuned
    from porter.reach.fact_file import make

    folder = package_in(Path(root), name)
    job = prepare((".",), jobs=1, no_cache=True, **options)
    with tuned():
        facts = make(folder, job.session)
    for file, text in shared(facts).files.items():
        _write(os.path.join(result, file), text.encode())
    _write(os.path.join(result, ROW), with_key(row_of(facts), key))


def facts_for(root: str, options: dict[str, Any], libraries: list[Shared], work: str) -> tuple[str, ...]:
    """The fact files of an analysis: those that the repository names, then those of the libraries of which it names none
    and that it does not hold itself: its own copy may be another version. Without libraries there are none to name: the analysis
    reads the repository's own by itself."""
    if not libraries:
        return ()
    base, table = root_of([root])
    settings = config.read(table).overridden(**options)
    target = choose_target(settings, base, table)
    own = [os.path.join(table.file.parent, name) for name in settings.facts] if table else []
    known = read(map(Path, own), target).names
    os.mkdir(folder := os.path.join(work, "libraries"))
    made = []
    for library in libraries:
        if library.library not in known and not _holds(root, library.library):
            made.append(os.path.join(folder, f"{library.library}.json"))
            _write(made[-1], _text(library, target_of(target)).encode())
    return (*own, *made)


def _holds(root: str, package: str) -> bool:
    return any(os.path.isfile(os.path.join(root, *top, package, "__init__.py")) for top in ((), ("src",)))


def _text(library: Shared, target: str) -> str:
    return library.text if library.target == target else library.anywhere


def _write(file: str, data: bytes) -> None:
    with open(file, "wb") as stream:
        stream.write(data)


def shared_of(task: Json) -> list[Shared]:
    return [Shared(*parts) for parts in task["libraries"]]
