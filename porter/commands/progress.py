"""A progress bar: on a terminal, and only once a run has taken long enough to make somebody wonder."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from porter.rulebook.words import speaker
from porter.run.run import Progress

say = speaker("report")

PATIENCE = 1.0  # seconds


@contextmanager
def progress(lang: str, quiet: bool) -> Iterator[Progress | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = None
    began = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal bar, task
        if bar is None and time.monotonic() - began > PATIENCE:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            task = bar.add_task(say("progress", lang), total=total)
            bar.start()
        if bar is not None:
            bar.update(task, completed=done, total=total)

    task = None
    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()
