"""One file, written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from porter.files.errors import FilesError, reason
from porter.files.read import digest, opened

# A hostile tree (a journal it ships, a link `a.py -> .git/config`) must not get porter to write what runs by itself.
NEVER = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", ".porter", ".venv", "site-packages"})


ABSENT = ""  # in place of a digest: there is no such file, or shall be none


def resolve(root: str | os.PathLike[str], path: str, is_absent: bool = False) -> str:
    """Where the bytes of `path` (below `root`) really are, or will be.

    FilesError: outside, protected, vanished, special, unreadable.
    """
    top = os.path.realpath(root)
    real = os.path.realpath(os.path.join(top, *path.split("/")))
    try:
        inside = os.path.commonpath([top, real]) == top and real != top
    except ValueError:
        inside = False
    if not inside:
        raise FilesError("outside", path=path, root=os.path.basename(top) or top)
    if not NEVER.isdisjoint(os.path.relpath(real, top).lower().split(os.sep)):
        raise FilesError("protected", path=path)
    try:
        regular = stat.S_ISREG(os.lstat(real).st_mode)
    except FileNotFoundError:
        if is_absent:
            return real
        raise FilesError("vanished", path=path) from None
    except OSError as error:
        raise FilesError("unreadable", path=path, error=reason(error)) from None
    if not regular:
        raise FilesError("special", path=path)
    return real


def check(root: str | os.PathLike[str], path: str, before: str | None = None) -> bytes:
    """The bytes that a `write` would replace. The journal asks this for each file before anything is written.

    FilesError: outside, protected, vanished, special, unreadable, changed, read-only, read-only-folder.
    """
    real = resolve(root, path, before == ABSENT)
    is_new = before == ABSENT and not os.path.lexists(real)
    data = b"" if is_new else _contents(real, path)
    if not is_new and before is not None and digest(data) != before:
        raise FilesError("changed", path=path)
    # the owner's wish, which root and a writable folder would not enforce
    if not is_new and (not os.stat(real).st_mode & 0o222 or not os.access(real, os.W_OK)):
        raise FilesError("read-only", path=path)
    if not os.access(os.path.dirname(real), os.W_OK | os.X_OK):
        raise FilesError("read-only-folder", path=path)
    return data


def write(
    root: str | os.PathLike[str],
    path: str,
    data: bytes | None,
    *,
    before: str | None = None,
    temporary: str | None = None,
    durable: bool = True,
) -> str:
    """Replace the contents of a file, make it, or remove it where `data` is None, and return its folder.

    Mode, owner, extended attributes and ACLs stay as far as the system lets us; a symlink stays a link, its target is
    written. `before` is the digest of the bytes that were analysed: any others on disk raise FilesError("changed").
    `temporary` names the file beside the target that holds the new bytes for a moment. The journal chooses the name, so
    that it can remove the file after a crash. With `durable` the folder is flushed too. Other hard links to the file
    keep the old bytes.
    """
    real = resolve(root, path, before == ABSENT)
    folder, name = os.path.split(real)
    if data is None:
        _remove(root, path, real, before)
        return folder
    beside = os.path.join(folder, temporary or f".porter-{os.getpid()}-{digest(os.fsencode(name))[:12]}.tmp")
    has_temporary = False
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(beside, flags, 0o600)
        has_temporary = True
        with open(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            _dress(real, beside) if before != ABSENT else os.chmod(beside, 0o666 & ~_umask())
            os.fsync(descriptor)
        # as late as possible: an editor may have saved the file meanwhile
        check(root, path, before)
        os.replace(beside, real)
        has_temporary = False
    except FilesError:
        raise
    except OSError as error:
        if not has_temporary and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise FilesError("read-only-folder", path=path) from None
        raise FilesError("unwritable", path=path, error=reason(error)) from None
    finally:
        if has_temporary:
            with suppress(OSError):
                os.unlink(beside)
    if durable:
        flush_folder(folder)
    return folder


def _remove(root: str | os.PathLike[str], path: str, real: str, before: str | None) -> None:
    check(root, path, before)
    try:
        os.unlink(real)
    except OSError as error:
        raise FilesError("unwritable", path=path, error=reason(error)) from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def create(file: str, data: bytes) -> None:
    """Write a file of porter's own, atomically and durably; raises OSError."""
    beside = file + ".tmp"
    with suppress(FileNotFoundError):
        os.unlink(beside)
    with open(beside, "xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(beside, file)
    flush_folder(os.path.dirname(file))


def flush_folder(folder: str) -> None:
    """Make renames in `folder` survive a power cut. Windows and some network file systems cannot, and need not."""
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _contents(real: str, path: str) -> bytes:
    try:
        with opened(real, path, links=False) as (stream, _):
            return stream.read()
    except FilesError as error:
        if error.key == "missing":
            raise FilesError("vanished", path=path) from None
        raise


def _dress(real: str, beside: str) -> None:
    """Give the new file what the old one had: owner first, because changing it clears mode bits."""
    old = os.stat(real)
    if hasattr(os, "chown"):
        new = os.stat(beside)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            with suppress(OSError):
                os.chown(beside, -1, old.st_gid)
            with suppress(OSError):
                os.chown(beside, old.st_uid, -1)
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for attribute in sorted(os.listxattr(real)):
                with suppress(OSError):
                    os.setxattr(beside, attribute, os.getxattr(real, attribute))
    os.chmod(beside, stat.S_IMODE(old.st_mode))
