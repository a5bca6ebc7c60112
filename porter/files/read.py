"""One file's bytes, or one reason why porter does not read it: the one way to what a user, a repository or its settings
name. A test holds the list of the few places that open files by themselves."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from porter.files.errors import FilesError, reason
from porter.files.witness import is_watched, note_answer, note_read

# 400,000 lines of code; `ast` and LibCST need more than a hundred bytes of memory for each byte of a file
LIMIT = 16_000_000
DOCUMENT = 256_000_000  # what porter itself wrote: reports, baselines, facts
HEAD = 8000  # as far as git looks for a NUL
SHEBANG_BYTES = 256
_PIECE = 1 << 20
UNREAD = "unread"  # what is asked of a file that cannot be read
_KEPT = 64_000_000  # bytes that a `Seen` keeps at most


class Seen:
    """The files that a run has read to their ends, so that each is read once, and is the same for all who ask. Where they are
    too many, the rest is read whenever it is asked."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, os.stat_result]] = {}
        self._left = _KEPT

    def known(self, file: str | os.PathLike[str], most: int) -> bytes | None:
        """The bytes of a file that has no more than `most`, where it was read before."""
        data, status = self._files.get(os.fspath(file), (None, None))
        if data is None or status is None or len(data) > most:
            return None
        note_read(file, most, data, status)
        return data

    def keep(self, file: str | os.PathLike[str], data: bytes, status: os.stat_result) -> None:
        name = os.fspath(file)
        if len(data) == status.st_size and len(data) <= self._left and name not in self._files:
            self._files[name], self._left = (data, status), self._left - len(data)


_seen: list[Seen] = []


@contextmanager
def reading_once(seen: Seen) -> Iterator[None]:
    """What `read` and `beginning` read meanwhile, in this process, is kept in `seen`, and is not read again."""
    _seen.append(seen)
    try:
        yield
    finally:
        _seen.remove(seen)


def _known(file: str | os.PathLike[str], most: int) -> bytes | None:
    return next((data for seen in _seen if (data := seen.known(file, most)) is not None), None)


def digest(data: bytes) -> str:
    """What `FileResult.digest`, the journal and `write` compare."""
    return hashlib.sha256(data).hexdigest()


class NotRegular(OSError):
    pass


def open_regular(file: str | os.PathLike[str], *, links: bool = False, pipes: bool = False) -> BinaryIO:
    """For reading. Raises OSError, also for whatever is no regular file: a device is never read, a pipe
    never waited for, unless `pipes`; a symlink is followed only with `links`."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(file, flags | (0 if links else getattr(os, "O_NOFOLLOW", 0)))
    try:
        mode = os.fstat(descriptor).st_mode
        if pipes and stat.S_ISFIFO(mode):  # one that nobody writes to is at its end
            os.set_blocking(descriptor, True)
        elif not stat.S_ISREG(mode):
            raise NotRegular(errno.EINVAL, "not a regular file")
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


@contextmanager
def opened(
    file: str | os.PathLike[str], path: str | None = None, *, links: bool = True, pipes: bool = False
) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file, and how long it says it is. Raises FilesError: missing, unreadable, special. `path` is what
    messages call the file."""
    name = os.fspath(path if path is not None else file)
    try:
        stream = open_regular(file, links=links, pipes=pipes)
    except (OSError, ValueError) as error:
        raise _noted(file, _refused(error, name)) from None
    try:
        with stream:
            yield stream, os.fstat(stream.fileno()).st_size
    except OSError as error:
        if error.errno is None:  # no word of the operating system: gzip's, of what the file holds
            raise
        raise _noted(file, FilesError("unreadable", path=name, error=reason(error))) from None


def why_unread(file: str | os.PathLike[str]) -> str:
    """The reason that was noted of a file that cannot be opened; empty where it can."""
    try:
        with opened(file):
            return ""
    except FilesError as error:
        return _reason(error)


def _noted(file: str | os.PathLike[str], refused: FilesError) -> FilesError:
    note_answer(file, UNREAD, _reason(refused))
    return refused


def _reason(error: FilesError) -> str:
    return f"{error.key} {error.message.values.get('error', '')}".rstrip()


def _refused(error: OSError | ValueError, name: str) -> FilesError:
    if isinstance(error, FileNotFoundError):
        return FilesError("missing", path=name)
    if isinstance(error, (IsADirectoryError, NotRegular)):
        return FilesError("special", path=name)
    return FilesError("unreadable", path=name, error=reason(error))  # a socket, a NUL in the name


def digest_of(file: str | os.PathLike[str], into: BinaryIO | None = None) -> str:
    """Of the bytes of a regular file of any size, which `into` receives on the way. Raises OSError."""
    sha256 = hashlib.sha256()
    with open_regular(file) as stream:
        while data := stream.read(_PIECE):
            sha256.update(data)
            if into is not None:
                into.write(data)
    return sha256.hexdigest()


def read(file: str | os.PathLike[str], path: str | None = None, *, limit: int = LIMIT) -> bytes:
    """All bytes of `file`. Raises FilesError, as `opened` does, and for what is large or binary."""
    name = os.fspath(path if path is not None else file)
    known = _known(file, limit)
    size, data = _whole(file, path, limit) if known is None else (len(known), known)
    if b"\0" in data[:HEAD]:
        raise FilesError("binary", path=name)
    if (size := max(size, len(data))) > limit:
        raise FilesError("large", path=name, size=f"{size / 1e6:.1f}", limit=f"{limit / 1e6:.0f}")
    return data


def _whole(file: str | os.PathLike[str], path: str | None, limit: int) -> tuple[int, bytes]:
    """How long a file says it is, and its bytes: none of one that is too long."""
    with opened(file, path) as (stream, size):
        data = stream.read(min(size, limit) + 1) or b"" if size <= limit else b""
        if len(data) > size:  # /proc says 0, and a log grows
            data += stream.read(limit + 1 - len(data)) or b""
        _note(file, limit if data else 0, data, stream)
        return size, data


def _note(file: str | os.PathLike[str], most: int, data: bytes, stream: BinaryIO) -> None:
    if _seen or is_watched():
        status = os.fstat(stream.fileno())
        note_read(file, most, data, status)
        for seen in _seen:
            seen.keep(file, data, status)


def beginning(file: str | os.PathLike[str], size: int, *, links: bool = True) -> bytes | None:
    """The first bytes of a regular file; None where there is nothing to read."""
    if links and (known := _known(file, size)) is not None:
        return known
    try:
        with opened(file, links=links) as (stream, length):
            data = stream.read(min(size, length) or size)  # /proc says 0
            _note(file, size, data, stream)
            return data
    except FilesError:
        return None


def has_python_shebang(file: str | os.PathLike[str]) -> bool:
    """`#!/usr/bin/env python3` and its kin in a file without a suffix."""
    head = beginning(file, SHEBANG_BYTES) or b""
    return head.startswith(b"#!") and b"python" in head.partition(b"\n")[0].replace(b"\\", b"/").rpartition(b"/")[2]
