"""How far a fleet is: a bar for people on a terminal, a line of JSON for each repository for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from porter.fleet.entries import Entry, Texts
from porter.rulebook.words import speaker

say = speaker("fleet")


class Show(Protocol):
    def begin(self, total: int) -> None: ...
    def done(self, entry: Entry, state: str, why: Texts | None) -> None:
        """`state`: done, kept from an earlier run, failed."""


@contextmanager
def shown(as_lines: bool, quiet: bool, lang: str) -> Iterator[Show]:
    """Lines go to standard output, the bar to standard error, and only to a terminal."""
    if as_lines:
        yield _Lines()
    elif quiet or not sys.stderr.isatty():
        yield _Silent()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            yield _Bar(bar, lang)


class _Silent:
    def begin(self, total: int) -> None:
        pass

    def done(self, entry: Entry, state: str, why: Texts | None) -> None:
        pass


class _Lines:
    def __init__(self) -> None:
        self._total = self._done = 0
        self._stream = sys.stdout

    def begin(self, total: int) -> None:
        self._total = total
        self._write({"event": "begin", "total": total})

    def done(self, entry: Entry, state: str, why: Texts | None) -> None:
        self._done += 1
        about = {"id": entry.id, "name": entry.name, "source": entry.source, "place": entry.place}
        self._write(
            {"event": "repository", "done": self._done, "total": self._total, **about, "state": state, "why": why}
        )

    def _write(self, event: dict[str, Any]) -> None:
        print(json.dumps(event, ensure_ascii=True), file=self._stream, flush=True)


class _Bar:
    def __init__(self, bar: Any, lang: str) -> None:
        self._bar, self._lang, self._task = (
            bar,
            lang,
            bar.add_task(say("progress.repositories", lang), total=None, count=""),
        )
        self._total = self._done = self._failed = 0

    def begin(self, total: int) -> None:
        self._total = total
        self._update()

    def done(self, entry: Entry, state: str, why: Texts | None) -> None:
        self._done += 1
        self._failed += state == "failed"
        self._update()

    def _update(self) -> None:
        counted = {"done": f"{self._done:,}", "total": f"{self._total:,}", "failed": f"{self._failed:,}"}
        count = say("progress.failed", self._lang, **counted) if self._failed else f"{self._done:,}/{self._total:,}"
        self._bar.update(self._task, completed=self._done, total=self._total, count=count)
