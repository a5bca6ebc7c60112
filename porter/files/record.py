"""What porter wrote into a copy: a record in it that grows by two lines with every file.

    ["a.py"]                              its new bytes are being gathered, in `TEMPORARY` beside it
    ["a.py", "file", SHA-256, mode]       they are whole and now take its place

So after a kill every file is as the record says, but for the last that it names: that one may still be as it was before. A
file with any other bytes was changed by the user. At the end the record is written anew, with one line a file. The order
of lines and files is kept against kill -9. After a power cut a file may differ from its line; it is then taken for
changed by the user.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from typing import NamedTuple

from porter.files.errors import FilesError, reason
from porter.files.read import digest_of, read
from porter.files.write import create

RECORD, TEMPORARY, LOCK = ".porter-copy.jsonl", ".porter-copy.tmp", ".porter-copy.lock"
OWN = frozenset({RECORD, RECORD + ".tmp", TEMPORARY, LOCK})
HEADER = b'{"porter-copy": 2}\n'
LARGEST = 300_000_000  # two million files
FILE, LINK, FOLDER, OTHER = "file", "link", "folder", "other"


class State(NamedTuple):
    kind: str
    value: str = ""  # the digest of a file, what a link holds
    mode: int = 0  # of a file

    def same(self, other: State) -> bool:
        return self[:2] == other[:2]


class Record:
    """`states` of each path in the copy `target`: the newest first."""

    def __init__(self, target: str, shown: str):
        self.target = target
        self.file = os.path.join(target, RECORD)
        self.states: dict[str, tuple[State, ...]] = {}
        self.begun = ""
        self.stream: FileIO | None = None
        try:
            names = set(os.listdir(target)) if os.path.lexists(target) else set()
            if RECORD in names and not os.path.islink(self.file):
                self._load(read(self.file, shown, limit=LARGEST))
            elif names - {LOCK, RECORD + ".tmp"}:  # which a kill right at the beginning leaves
                raise ValueError
        except PermissionError as error:
            raise FilesError("unreadable", path=shown, error=reason(error)) from None
        except (FilesError, OSError, ValueError, TypeError, RecursionError):
            raise FilesError("out-not-empty", path=shown) from None

    def _load(self, data: bytes) -> None:
        if HEADER.startswith(data):
            return
        head, *lines = data.split(b"\n")
        if head + b"\n" != HEADER:
            raise ValueError
        for line in lines[:-1]:  # behind the last newline there is nothing, or a line that was cut
            path, *fields = json.loads(line)
            if not _is_below(path):
                raise ValueError
            if fields:
                kind, value, mode = fields
                if kind not in (FILE, LINK) or not isinstance(value, str) or not isinstance(mode, int):
                    raise ValueError
                older = self.states.get(path, ())[:1] if path == self.begun else ()
                self.states[path] = (State(kind, value, mode), *older)
            else:
                self._settle()
                self.begun = path

    def _settle(self) -> None:
        """Another was begun, so this one is in its place."""
        if self.begun in self.states:
            self.states[self.begun] = self.states[self.begun][:1]

    def start(self, states: Mapping[str, State]) -> None:
        """Write down what is there, and go on from it."""
        self.close(states)
        self.stream = open(self.file, "ab", buffering=0)  # noqa: SIM115

    def begin(self, path: str) -> None:
        self._add(path)

    def intend(self, path: str, state: State) -> None:
        self._add(path, *state)

    def _add(self, *row: object) -> None:
        assert self.stream is not None, "start comes first"
        line = _line(row)
        if self.stream.write(line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self, states: Mapping[str, State] | None = None) -> None:
        """End the record. With `states` it is written anew, and holds nothing else."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None
        if states is not None:
            create(self.file, HEADER + b"".join(_line((path, *state)) for path, state in sorted(states.items())))

    def sweep(self) -> None:
        """Remove what a kill left of the file that was being written."""
        if self.begun and not leads_away(self.target, self.begun):
            with suppress(OSError):
                os.unlink(os.path.join(os.path.dirname(place(self.target, self.begun)), TEMPORARY))


def place(target: str, path: str) -> str:
    return os.path.join(target, *path.split("/"))


def leads_away(target: str, path: str) -> bool:
    """Whether a folder on the way to `path` is a link."""
    folder = os.path.dirname(place(target, path))
    return os.path.realpath(folder) != folder


def look(file: str) -> State | None:
    """What is at this place. Never follows a link, never waits for a pipe."""
    try:
        status = os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return State(FOLDER)
    if stat.S_ISLNK(status.st_mode):
        return State(LINK, os.readlink(file))
    if stat.S_ISREG(status.st_mode):
        return State(FILE, digest_of(file), stat.S_IMODE(status.st_mode))
    return State(OTHER)


def _line(row: object) -> bytes:
    return json.dumps(row).encode() + b"\n"


def _is_below(path: object) -> bool:
    """What was read back may have come with somebody's repository."""
    if not isinstance(path, str) or b"\0" in os.fsencode(path):
        return False
    parts = path.split("/")
    if os.name == "nt" and ("\\" in path or ":" in path):
        return False
    return all(parts) and OWN.isdisjoint(parts) and not {".", ".."} & set(parts)
