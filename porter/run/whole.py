"""What a whole run said, where nothing has changed since that it read or asked: then a second run says the same.

A key tells what a run was asked to do, by which porter and of which files; what it saw of the disk is kept beside what it
said, and looked at again before that is believed: the times of the files, and the bytes of those whose times do not tell.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeAlias

from porter.engine.session import Session
from porter.files.read import UNREAD, beginning, why_unread
from porter.files.witness import QUESTIONS, WHOLE, Signs, has_rested, signs_of, watching
from porter.run.cache import Cache, run_key
from porter.run.plain import Plain, facts_of, facts_row, result_of, row_of
from porter.run.said import Said, may_pass

Reads: TypeAlias = "list[tuple[str, int, Signs | None, int, str]]"


def said_before(cache: Cache, session: Session, about: object, look: Callable[[], Said]) -> Said:
    """`about`: all that a run depends on beside its session and what `look` sees of the disk."""
    key = hashlib.sha256(repr((run_key(session), about)).encode("utf-8", "surrogatepass")).hexdigest()
    with suppress(ValueError, TypeError, AttributeError, LookupError, OSError):  # of what no porter has written
        if (known := cache.run(key)) and (said := _said(cache, key, known)):
            return said
    with watching() as witness:
        said = look()
    if witness.is_steady and not may_pass(said.files):
        reads = [(*place, *seen) for place, seen in witness.reads.items()]
        answers = [(*place, answer) for place, answer in witness.answers.items()]
        cache.keep_run(key, (reads, answers, [*map(row_of, said.files)], facts_row(said.facts)))
    return said


def _said(cache: Cache, key: str, known: Plain) -> Said | None:
    reads, answers, results, facts = known
    now = _as_read(reads)
    if now is None or any(_answer(*row[:2]) != row[2] for row in answers):
        return None
    if now != reads:  # looked at byte by byte: their times tell from now on
        cache.keep_run(key, (now, answers, results, facts))
    return Said([*map(result_of, results)], facts_of(facts))


def _as_read(reads: Iterable[Any]) -> Reads | None:
    """The files with their times of now; None where one is another than it was."""
    rows = [*_unchanged(reads)]
    return rows if all(rows) else None


def _unchanged(reads: Iterable[Any]) -> Iterator[Any]:
    for path, most, signs, size, digest in reads:
        try:
            status = os.stat(path)
        except OSError:
            return (yield None)
        now = signs_of(status)
        if now != signs:
            if status.st_size != size or not stat.S_ISREG(status.st_mode) or not _has_digest(path, most, digest):
                return (yield None)
            signs = now if has_rested(status) else None
        yield path, most, signs, size, digest


def _has_digest(path: str, most: int, digest: str) -> bool:
    data = beginning(path, os.stat(path).st_size + 1 if most == WHOLE else most) if most else b""
    return data is not None and hashlib.sha256(data).hexdigest() == digest


def _answer(path: str, question: str) -> object:
    return why_unread(path) if question == UNREAD else QUESTIONS[question](path)
