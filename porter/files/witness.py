"""What a run has seen of the disk: the files that it read, and what else it asked. Where all of that is as it was, a second run
would say the same.

A file is the one that was read where its size, its times and its place on the disk are: as git does it, and as with git only
where it had rested when it was read. What was just written may be written once more within one tick of the clock; it is
known by its bytes.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

WHOLE = -1
_TICK = 2_000_000_000  # nanoseconds: no file system counts time in longer steps
Signs: TypeAlias = tuple[int, int, int, int, int]
Answer: TypeAlias = "str | bool | tuple[str, ...]"


class Read(NamedTuple):
    """A file as it was read."""

    signs: Signs | None  # None where it had not rested
    size: int
    digest: str


class Witness:
    """`reads`: by path and by how many bytes were asked, which is WHOLE for a file that has no more; `answers`: by path and
    question."""

    def __init__(self) -> None:
        self.reads: dict[tuple[str, int], Read] = {}
        self.answers: dict[tuple[str, str], Answer] = {}
        self.is_steady = True  # nothing has changed while the run looked at it

    def read(self, path: str, most: int, data: bytes, status: os.stat_result) -> None:
        signs, size = signs_of(status), status.st_size
        key = (path, WHOLE if len(data) == size else most)
        known = self.reads.get(key)
        if known is not None and known.signs == signs:
            return
        seen = Read(signs if has_rested(status) else None, size, hashlib.sha256(data).hexdigest())
        self.is_steady &= known is None or known[1:] == seen[1:]
        self.reads[key] = seen

    def answer(self, path: str, question: str, answer: Answer) -> None:
        self.is_steady &= self.answers.setdefault((path, question), answer) == answer


_watching: list[Witness] = []


@contextmanager
def watching() -> Iterator[Witness]:
    """Everything that is read or asked meanwhile, in this process."""
    witness = Witness()
    _watching.append(witness)
    try:
        yield witness
    finally:
        _watching.remove(witness)


def is_watched() -> bool:
    return bool(_watching)


def note_read(path: str | os.PathLike[str], most: int, data: bytes, status: os.stat_result) -> None:
    for witness in _watching:
        witness.read(os.fspath(path), most, data, status)


def note_answer(path: str | os.PathLike[str], question: str, answer: Answer) -> None:
    for witness in _watching:
        witness.answer(os.fspath(path), question, answer)


def note_change() -> None:
    """A file was another one than before when another process looked at it."""
    for witness in _watching:
        witness.is_steady = False


def signs_of(status: os.stat_result) -> Signs:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


def has_rested(status: os.stat_result) -> bool:
    if os.name == "nt":  # has no time of a change that nobody can set
        return False
    return max(status.st_mtime_ns, status.st_ctime_ns) + _TICK < time.time_ns()


# ---- what is asked beside the bytes of files


def is_file(path: str | os.PathLike[str]) -> bool:
    return bool(ask(path, "file"))


def real(path: str | os.PathLike[str]) -> str:
    return str(ask(path, "real"))


def ask(path: str | os.PathLike[str], question: str) -> Answer:
    """One of QUESTIONS."""
    answer = QUESTIONS[question](os.fspath(path))
    note_answer(path, question, answer)
    return answer


def _is_empty(path: str) -> bool:
    """Whether nothing is there, or a folder without a file."""
    try:
        return not any(os.scandir(path)) if os.path.isdir(path) else not os.path.lexists(path)
    except OSError:
        return False


def _is_read_only(path: str) -> bool:
    """As `write` will see it: the owner's wish counts, which root and a writable folder would not enforce."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not mode & 0o222 or not os.access(path, os.W_OK) or not os.access(os.path.dirname(path), os.W_OK | os.X_OK)


QUESTIONS: dict[str, Callable[[str], Answer]] = {
    "file": os.path.isfile,
    "real": os.path.realpath,
    "empty": _is_empty,
    "read-only": _is_read_only,
}
