"""A progress bar: on a terminal, and only once a run has taken long enough to make somebody wonder."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from porter.rulebook.words import speaker
from porter.run.run import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

say = speaker("report")

PATIENCE = 1.0  # seconds


@contextmanager
def progress(lang: str, quiet: bool) -> Iterator[Progress | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    shown: tuple[Bar, TaskID] | None = None
    began = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown
        if shown is None and time.monotonic() - began > PATIENCE:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            shown = bar, bar.add_task(say("progress", lang), total=total)
            bar.start()
        if shown is not None:
            shown[0].update(shown[1], completed=done, total=total)

    try:
        yield show
    finally:
        if shown is not None:
            shown[0].stop()
