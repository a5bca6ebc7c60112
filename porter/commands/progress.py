"""A progress bar: on a terminal, and only once a run has taken long enough to make somebody wonder. It names what is done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

from porter.rulebook.words import speaker
from porter.run.run import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

say = speaker("report")

PATIENCE = 0.15  # seconds, and as many again for the command to start and for rich: half of one together


@contextmanager
def progress(lang: str, quiet: bool) -> Iterator[Progress | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(lang)
    # by a clock of its own: a phase may take long before it has anything to count
    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar.show
    finally:
        timer.cancel()
        bar.stop()


class _Bar:
    def __init__(self, lang: str) -> None:
        self._lang, self._lock = lang, Lock()
        self._now: tuple[str, int, int] = ("files", 0, 0)
        self._shown: tuple[Bar, TaskID] | None = None
        self._over = False

    def start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"))
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        with self._lock:
            if not self._over:
                self._shown = bar, bar.add_task("", total=None, count="")
                self._update()
                bar.start()

    def stop(self) -> None:
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown[0].stop()

    def show(self, phase: str, done: int, total: int) -> None:
        """`total`: 0 where nobody knows how much there is to do."""
        with self._lock:
            self._now = phase, done, total
            self._update()

    def _update(self) -> None:
        if self._shown is not None:
            (bar, task), (phase, done, total) = self._shown, self._now
            count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
            words = say(f"progress.{phase}", self._lang)
            bar.update(task, description=words, completed=done, total=total or None, count=count)
