"""The libraries that the repositories of a fleet share: all are analysed before any repository is begun."""

from __future__ import annotations

import json
from collections.abc import Sequence

from porter.errors import UserError
from porter.files.documents import Json
from porter.fleet.entries import Entry, libraries
from porter.fleet.identity import of_text
from porter.fleet.layout import LIBRARIES
from porter.fleet.libraries import Shared, of_summary, shared
from porter.fleet.local import cores, rows
from porter.fleet.row import DONE
from porter.fleet.store import Store
from porter.fleet.task import Limits, of_entry
from porter.reach.known import target_of
from porter.target import Target


def named(given: Sequence[str]) -> list[Entry]:
    """Raises UserError where one is nonsense."""
    found = libraries(given)
    for entry in found:
        if entry.error is not None:
            raise _refused(entry, **entry.error)
    return found


def analysed(
    found: Sequence[Entry], target: Target, output: str, store: Store, limits: Limits, jobs: int | None
) -> tuple[tuple[Shared, ...], list[Json]]:
    """What goes with every task, and what fleet.json says. On this machine, with whatever engine the repositories are
    analysed. Raises UserError for the first that cannot be had or read."""
    options = {"target": target_of(target)}
    tasks = [of_entry(entry, options, output, limits)._replace(shelf=LIBRARIES) for entry in found]
    made = dict(rows(tasks, jobs or cores()))
    first: dict[str, Entry] = {}
    for entry in found:
        row = made[entry.id]
        if row["state"] != DONE:
            raise _refused(entry, **row["why"])
        if (earlier := first.setdefault(row["library"], entry)) is not entry:
            raise _refused(
                entry, f"is {row['library']}, as is {earlier.source}; name one", f"与 {earlier.source} 同为 {row['library']}；请只指定一个"
            )  # fmt: skip
    return tuple(_read(store, entry, made[entry.id]) for entry in found), [of_summary(e, made[e.id]) for e in found]


def _read(store: Store, entry: Entry, row: Json) -> Shared:
    try:
        texts = {file: store.read(LIBRARIES, entry.id, file).decode() for file in row["files"]}
    except (OSError, UnicodeDecodeError):
        texts = {}
    text = next(iter(texts.values()), "")
    if of_text(text) == row["sha256"] and (found := shared(json.loads(text))).files == texts:
        return found
    place = f"{LIBRARIES}/{entry.id}"
    raise _refused(
        entry,
        f"{place} of the results is not as porter wrote it; delete that folder",
        f"结果中的 {place} 已被改动；请删除该目录",
    )


def _refused(entry: Entry, en: str, zh: str) -> UserError:
    return UserError(f"--library {entry.source}: {en}", f"--library {entry.source}：{zh}")
