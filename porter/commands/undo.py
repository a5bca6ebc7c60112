"""`porter undo`, `porter cache clean`, and the repair of interrupted runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from porter.cli import FOUND, OK
from porter.commands.job import Job
from porter.config import find, read
from porter.report.words import say


def mend(job: Job) -> None:
    """Every command first finishes or takes back what an interrupted one left."""
    if not (job.root / ".porter").exists():
        return
    from porter.files.journal import recover

    if message := recover(job.root):
        print("porter: " + message.text(job.lang), file=sys.stderr)


def undo(path: str, lang: str | None) -> int:
    from porter.commands.job import root_of
    from porter.files.journal import undo as take_back

    root, table = root_of([path])
    settings = read(table).overridden(lang=lang)
    here = Path(os.path.realpath(path))
    with_journal = (folder for folder in (root, here, *here.parents) if (folder / ".porter").is_dir())
    done = take_back(next(with_journal, root))
    print(say("undone", settings.lang, n=len(done.restored)))
    for error in done.refused:
        print("porter: " + error.text(settings.lang), file=sys.stderr)
    return FOUND if done.refused else OK


def clean(lang: str | None) -> int:
    from porter.files.cache import Cache

    settings = read(find(Path.cwd())).overridden(lang=lang)
    print(say("cache.cleaned" if Cache().clean() else "cache.empty", settings.lang))
    return OK
