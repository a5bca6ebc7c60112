"""Proof that porter wrote a journal, for this user, in this place.

A journal replaces files, and `.porter` may come with a tree: cloned, unpacked, copied, mounted. So what says how far a
run got carries a seal: an HMAC with a secret that lies in the user's state folder and never in a tree. It covers the
manifest, which covers the old and the new bytes of every file. What has no seal of ours is never acted upon.

The seal also names the place: a journal that somebody got hold of proves nothing in another tree. The place is the path
of the root *or* the inode of the run's folder. A renamed tree keeps the inode; a restored backup, and file systems that
number their inodes anew, keep the path; a copy of the tree elsewhere has neither, and its files are not what the run
touched. Device numbers are left out: they change with a restart, and a power cut is what the journal is for.

How far a run got is the name of the sealed file, which the seal does not cover. Who can rename it can write the tree;
and whatever the name, files are only ever given bytes that porter itself recorded, in place of bytes that it recorded.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
import stat
import tempfile
from typing import NamedTuple

from porter.files.errors import FilesError, reason
from porter.files.read import digest, open_regular
from porter.files.write import flush_folder
from porter.regex import lazy
from porter.resources import state_dir

FORMAT = 2
BYTES = 32
LONGEST = 1024  # of a seal
SEAL = lazy(rb"(%d ([0-9]+) ([0-9a-f]{64}) ([0-9]+) ([0-9]+) ([0-9a-f]{64})) ([0-9a-f]{64})\n" % FORMAT)


class Proof(NamedTuple):
    """What a seal says of the manifest."""

    size: int
    digest: str


def seal(secret: bytes, root: str, folder: str, manifest: bytes) -> bytes:
    """For the run whose journal is `folder`, in the tree `root`."""
    name, place, inode = _place(root, folder)
    text = f"{FORMAT} {name} {place} {inode} {len(manifest)} {digest(manifest)}".encode()
    return b"%s %s\n" % (text, _code(secret, text))


def proof(secret: bytes, root: str, folder: str, sealed: bytes) -> Proof | None:
    """None where `sealed` was not made with this secret, for this place."""
    parts = SEAL.fullmatch(sealed)
    if parts is None or not hmac.compare_digest(parts[7], _code(secret, parts[1])):
        return None
    name, place, inode = _place(root, folder)
    if parts[2].decode() != name or (parts[3].decode() != place and parts[4].decode() != inode):
        return None
    return Proof(int(parts[5]), parts[6].decode())


def _place(root: str, folder: str) -> tuple[str, str, str]:
    return os.path.basename(folder), digest(os.fsencode(root)), str(os.lstat(folder).st_ino)


def _code(secret: bytes, text: bytes) -> bytes:
    return hmac.new(secret, b"porter journal " + text, hashlib.sha256).hexdigest().encode()


def find_secret(root: str) -> bytes | None:
    """The user's secret; None where there is none yet. Raises FilesError (state-...) where it proves nothing."""
    folder = _folder(root)
    try:
        return _read(folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FilesError("state", path=folder, error=reason(error)) from None


def make_secret(root: str) -> bytes:
    """The same, made where there is none."""
    folder = _folder(root)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        _check_folder(folder)
        if not os.path.lexists(os.path.join(folder, "journal", "secret")):
            _make(folder)
        return _read(folder)
    except OSError as error:
        raise FilesError("state", path=folder, error=reason(error)) from None


def _make(folder: str) -> None:
    """A folder is renamed into its place, complete: where several porters do, the first one's stays."""
    final, new = os.path.join(folder, "journal"), tempfile.mkdtemp(prefix="journal-", dir=folder)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(os.path.join(new, "secret"), flags, 0o600), "wb") as stream:
            stream.write(secrets.token_bytes(BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        flush_folder(new)
        os.rename(new, final)
        flush_folder(folder)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        if not os.path.lexists(final):
            raise


def _folder(root: str) -> str:
    folder = os.path.realpath(state_dir())
    if (folder + os.sep).startswith(root.rstrip(os.sep) + os.sep):  # the tree could have brought a secret of its own
        raise FilesError("state-inside", path=folder)
    return folder


def _read(folder: str) -> bytes:
    inner = os.path.join(folder, "journal")
    _check_folder(folder)
    _check_folder(inner)
    file = os.path.join(inner, "secret")
    with open_regular(file) as stream:
        secret = stream.read(BYTES + 1)
        if len(secret) != BYTES or not _is_ours(os.fstat(stream.fileno()), 0o077):
            raise FilesError("state-shared", path=file)
    return secret


def _check_folder(folder: str) -> None:
    status = os.lstat(folder)
    if not (stat.S_ISDIR(status.st_mode) and _is_ours(status, 0o022)):
        raise FilesError("state-shared", path=folder)


def _is_ours(status: os.stat_result, others: int) -> bool:
    """Windows keeps others out of the user's profile by other means."""
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & others)
