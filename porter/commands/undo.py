"""`porter undo` and `porter cache clean`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from porter.exits import FOUND, OK
from porter.rulebook.words import speaker
from porter.run.config import find, read

say = speaker("report")


def undo(path: str, lang: str | None) -> int:
    from porter.commands.settings import root_of
    from porter.files.journal import has_runs
    from porter.files.journal import undo as take_back

    root, table = root_of([path])
    settings = read(table).overridden(lang=lang)
    start = Path(os.path.realpath(path))
    if not os.path.lexists(root / ".porter"):  # written from a root that was found otherwise
        root = next((folder for folder in (start, *start.parents) if has_runs(folder)), root)
    undone = take_back(root)
    print(say("undone", settings.lang, n=len(undone.restored)))
    for error in undone.refused:
        print("porter: " + error.text(settings.lang), file=sys.stderr)
    return FOUND if undone.refused else OK


def clean(lang: str | None) -> int:
    from porter.run.cache import Cache

    settings = read(find(Path.cwd())).overridden(lang=lang)
    print(say("cache.cleaned" if Cache().clean() else "cache.empty", settings.lang))
    return OK
