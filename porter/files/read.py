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
from porter.files.witness import note_answer, note_read

# 400,000 lines of code; `ast` and LibCST need more than a hundred bytes of memory for each byte of a file
LIMIT = 16_000_000
DOCUMENT = 256_000_000  # what porter itself wrote: reports, baselines, facts
HEAD = 8000  # as far as git looks for a NUL
SHEBANG_BYTES = 256
_PIECE = 1 << 20
UNREAD = "unread"  # what is asked of a file that cannot be read


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
    with opened(file, path) as (stream, size):
        data = stream.read(min(size, limit) + 1) or b"" if size <= limit else b""
        if len(data) > size:  # /proc says 0, and a log grows
            data += stream.read(limit + 1 - len(data)) or b""
        note_read(file, limit if data else 0, data, stream.fileno())
    if b"\0" in data[:HEAD]:
        raise FilesError("binary", path=name)
    if (size := max(size, len(data))) > limit:
        raise FilesError("large", path=name, size=f"{size / 1e6:.1f}", limit=f"{limit / 1e6:.0f}")
    return data


def beginning(file: str | os.PathLike[str], size: int, *, links: bool = True) -> bytes | None:
    """The first bytes of a regular file; None where there is nothing to read."""
    try:
        with opened(file, links=links) as (stream, length):
            data = stream.read(min(size, length) or size)  # /proc says 0
            note_read(file, size, data, stream.fileno())
            return data
    except FilesError:
        return None


def has_python_shebang(file: str | os.PathLike[str]) -> bool:
    """`#!/usr/bin/env python3` and its kin in a file without a suffix."""
    head = beginning(file, SHEBANG_BYTES) or b""
    return head.startswith(b"#!") and b"python" in head.partition(b"\n")[0].replace(b"\\", b"/").rpartition(b"/")[2]
