"""`porter undo`, `porter cache clean`, and what commands do about a journal before they begin."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from porter.cli import FOUND, OK
from porter.commands.job import Job
from porter.config import find, read
from porter.files.errors import Message
from porter.report.words import say


def mend(job: Job, kept: bool) -> None:
    """Before files are written: what an interrupted run left is finished or taken back."""
    from porter.files.journal import recover

    if message := recover(job.root, kept):
        print("porter: " + message.text(job.lang), file=sys.stderr)


def tell(root: Path, lang: str) -> None:
    """Before files are read: one line where a journal lies there that is not finished, or not ours. Writes nothing."""
    if message := _look(root):
        print("porter: " + message.text(lang), file=sys.stderr)


def is_half_written(root: Path) -> bool:
    message = _look(root)
    return message is not None and message.key in ("unfinished", "unkept")


def _look(root: Path) -> Message | None:
    if not os.path.lexists(root / ".porter"):
        return None
    from porter.files.journal import look

    return look(root)


def undo(path: str, lang: str | None) -> int:
    from porter.commands.job import root_of
    from porter.files.journal import has_runs
    from porter.files.journal import undo as take_back

    root, table = root_of([path])
    settings = read(table).overridden(lang=lang)
    here = Path(os.path.realpath(path))
    if not os.path.lexists(root / ".porter"):  # written from a root that was found otherwise
        root = next((folder for folder in (here, *here.parents) if has_runs(folder)), root)
    done = take_back(root)
    print(say("undone", settings.lang, n=len(done.restored)))
    for error in done.refused:
        print("porter: " + error.text(settings.lang), file=sys.stderr)
    return FOUND if done.refused else OK


def clean(lang: str | None) -> int:
    from porter.files.cache import Cache

    settings = read(find(Path.cwd())).overridden(lang=lang)
    print(say("cache.cleaned" if Cache().clean() else "cache.empty", settings.lang))
    return OK
