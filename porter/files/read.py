"""One file's bytes, or one reason why porter does not read it."""

from __future__ import annotations

import hashlib
import os
import stat

from porter.files.errors import FilesError, reason

# 400,000 lines of code; `ast` and LibCST need more than a hundred bytes of memory for each byte of a file
LIMIT = 16_000_000
HEAD = 8000  # as far as git looks for a NUL
SHEBANG_BYTES = 256


def digest(data: bytes) -> str:
    """What `FileResult.digest`, the journal and `write` compare."""
    return hashlib.sha256(data).hexdigest()


def read(file: str | os.PathLike, path: str | None = None, *, limit: int = LIMIT) -> bytes:
    """The bytes of `file`; `path` is what messages call it. Raises FilesError: missing, unreadable, special, large,
    binary. Never waits for a pipe, never reads a device."""
    name = os.fspath(path if path is not None else file)
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise FilesError("missing", path=name) from None
    except IsADirectoryError:
        raise FilesError("special", path=name) from None
    except OSError as error:
        raise FilesError("unreadable", path=name, error=reason(error)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FilesError("special", path=name)
        if status.st_size > limit:
            raise FilesError("large", path=name, size=f"{status.st_size / 1e6:.1f}", limit=f"{limit / 1e6:.0f}")
        with open(descriptor, "rb", closefd=False) as stream:
            head = stream.read(HEAD)
            if b"\0" in head:
                raise FilesError("binary", path=name)
            return head + stream.read()
    except OSError as error:
        raise FilesError("unreadable", path=name, error=reason(error)) from None
    finally:
        os.close(descriptor)


def has_python_shebang(file: str | os.PathLike) -> bool:
    """`#!/usr/bin/env python3` and its kin in a file without a suffix."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            head = os.read(descriptor, SHEBANG_BYTES)
        finally:
            os.close(descriptor)
    except OSError:
        return False
    return head.startswith(b"#!") and b"python" in head.partition(b"\n")[0].replace(b"\\", b"/").rpartition(b"/")[2]
