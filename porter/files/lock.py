"""One porter at a time may write below a root."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress

from porter.files.errors import FilesError, reason

ATTEMPTS = 1000  # to take it while others clear it away
FAR = 1 << 30  # Windows locks bytes against reading too: lock one where the pid is not
UNSUPPORTED = frozenset(
    getattr(errno, name) for name in ("ENOSYS", "ENOLCK", "EOPNOTSUPP", "ENOTSUP", "EINVAL") if hasattr(errno, name)
)
_held: set[str] = set()  # a record lock does not keep its own process out


class Lock:
    """The system's own lock on a file, gone with its process however that ends; where the file system has none
    (Lustre without -o flock), the pid in the file must do."""

    def __init__(self, file: str, shown: str):
        # the file itself is no link: it may have come with somebody's repository, and it is written
        self.file, self.shown = os.path.join(os.path.realpath(os.path.dirname(file)), os.path.basename(file)), shown
        self.descriptor = -1

    def acquire(self) -> bool:
        """False where the file's last holder clears it away at this moment. Raises FilesError (locked, ...)."""
        if self.file in _held:
            raise FilesError("locked", path=self.shown, pid=os.getpid())
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(self.file, flags | getattr(os, "O_BINARY", 0), 0o644)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise FilesError("journal", path=self.shown, error=reason(error)) from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:  # another name of a file that is somebody's
                raise FilesError("foreign-journal", path=self.shown)
            holder = _pid(descriptor)
            if not _locked(descriptor, holder):
                raise FilesError("locked", path=self.shown, pid=_pid(descriptor) or "?")
            if not _is_at(self.file, status):
                os.close(descriptor)
                return False
            with suppress(OSError):  # a full disk: the lock holds, only its owner's number is unknown
                os.ftruncate(descriptor, 0)
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, b"%d\n" % os.getpid())
        except BaseException:
            os.close(descriptor)
            raise
        self.descriptor = descriptor
        _held.add(self.file)
        return True

    def release(self, clear: bool = False) -> None:
        """`clear`: the file goes too. Still held, where the system allows it: whoever opened it meanwhile sees that."""
        if self.descriptor >= 0:
            with suppress(OSError):
                os.ftruncate(self.descriptor, 0)
            if clear and os.name != "nt":
                with suppress(OSError):
                    os.unlink(self.file)
            os.close(self.descriptor)
            self.descriptor = -1
            _held.discard(self.file)
            if clear and os.name == "nt":
                with suppress(OSError):  # another porter has it open
                    os.unlink(self.file)


def _is_at(file: str, status: os.stat_result) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.lstat(file), status)
    return False


def _pid(descriptor: int) -> int:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return int(os.read(descriptor, 32))
    except (OSError, ValueError):
        return 0


def _locked(descriptor: int, holder: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except ImportError:
        return not _alive(holder)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return not _alive(holder)
        return False


def _alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
