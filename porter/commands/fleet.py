"""`porter fleet`: many repositories in, a result folder for each and one page that ranks them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from porter.commands import fleet_libraries
from porter.commands.fleet_progress import Show, shown
from porter.commands.settings import settings_here
from porter.errors import check_choice
from porter.exits import FOUND, OK
from porter.files.documents import Json
from porter.fleet import show, summary
from porter.fleet.entries import Entry, entries
from porter.fleet.store import Store, opened
from porter.fleet.task import Limits, Task, of_entry
from porter.rulebook.words import speaker
from porter.terminal import show as write_lines

say = speaker("fleet")
PAGE, TABLE = "index.html", "fleet.csv"
PROGRESS = ("text", "json")


def fleet(
    listed: str,
    output: str,
    against: str | None = None,
    jobs: int | None = None,
    timeout: int = 1800,
    memory: int = 8,
    ray: str | None = None,
    target: str | None = None,
    style: str | None = None,
    progress: str | None = None,
    quiet: bool = False,
    lang: str | None = None,
    library: Sequence[str] = (),
) -> int:
    check_choice("--progress", progress, PROGRESS)
    options = {key: value for key, value in (("target", target), ("style", style), ("lang", lang)) if value}
    settings, here = settings_here(target, lang)
    language = settings.overridden(style=style).lang
    found, libraries = entries(listed, output), fleet_libraries.named(library)
    earlier = _earlier(against) if against else None
    place = output if "://" in output else os.path.abspath(output)
    limits = Limits(timeout, memory)
    tasks = [of_entry(entry, options, place, limits) for entry in found if entry.error is None]
    store = opened(output)
    store.begin()
    try:
        with shown(progress == "json", quiet, language) as tell:
            shared, told = fleet_libraries.analysed(libraries, here, place, store, limits, jobs)
            tasks = [task._replace(libraries=shared) for task in tasks]
            rows, new = _rows(found, tasks, _engine(tasks, jobs, ray), tell)
        document = summary.document(found, rows, language, earlier, told)
        _write(store, document)
    finally:
        store.end()
    failed = document["totals"]["failed"]
    if progress != "json" and not quiet:
        text = say("text.done", language, n=len(found), new=new, kept=len(found) - new - failed, failed=failed)
        file = say("text.written", language, file=output.rstrip("/") + "/" + PAGE)
        write_lines([*show.lines(document), [], [(text, "")], [(file, "")]], sys.stdout)
    return FOUND if failed else OK


def _write(store: Store, document: Json) -> None:
    from porter.fleet.page import page
    from porter.report.sanitise import as_json

    store.write(PAGE, page(document))
    store.write(TABLE, show.as_csv(document))
    store.write(summary.FILE, as_json(document))


def _earlier(against: str) -> tuple[str, Json]:
    file = os.path.join(against, summary.FILE) if os.path.isdir(against) else against
    return os.path.basename(os.path.abspath(against)), summary.read(file)


def _engine(tasks: Sequence[Task], jobs: int | None, ray: str | None) -> Iterator[tuple[str, Json]]:
    if ray:
        from porter.fleet.cluster import rows as on_ray

        return on_ray(tasks, ray)
    from porter.fleet.local import cores, rows

    return rows(tasks, jobs or cores())


def _rows(
    found: Sequence[Entry], tasks: Sequence[Task], engine: Iterator[tuple[str, Json]], tell: Show
) -> tuple[dict[str, Json], int]:
    """By id; and how many were made now."""
    by_id, rows, new = {entry.id: entry for entry in found}, {}, 0
    tell.begin(len(found))
    for entry in found:
        if entry.error is not None:
            tell.done(entry, "failed", entry.error)
    for name, row in engine:
        rows[name] = row
        new += row["is_new"]
        state = row["state"] if row["is_new"] or row["state"] == "failed" else "kept"
        tell.done(by_id[name], state, row["why"])
    return rows, new
