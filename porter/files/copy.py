"""`--out DIR`: a ported copy of a tree that can stand in for the original.

Each file is at its own place in the copy, with the ported bytes where there are some. Hard links become files of their
own. `files/pieces.py` says where a symlink leads. One case more: a link to a file outside of the tree that was ported, too,
becomes a file with the ported bytes, because what it leads to is the original.

Not copied: version control, caches, virtual environments, what .gitignore names (unless git tracks it, or it was
ported), pipes, sockets and devices, and the record of a copy, should the tree itself be one.

What somebody did in the copy is theirs. A file that is not as porter left it, a link or folder in its place, a file
that porter did not write: each stops the run before anything is written. What porter wrote and the tree no longer has
is removed; what somebody deleted is written again; a mode that somebody changed stays.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import BinaryIO

from porter.files.discover import MADE, VCS, Walk
from porter.files.errors import FilesError
from porter.files.lock import ATTEMPTS, Lock
from porter.files.pieces import Piece, as_files_error, pieces_of
from porter.files.read import digest, digest_of
from porter.files.record import FILE, FOLDER, LINK, LOCK, TEMPORARY, Record, State, leads_away, look, place


def write_copy(
    root: str | os.PathLike[str],
    out: str | os.PathLike[str],
    files: Mapping[str, bytes | None],
    exclude: Iterable[str] = (),
    project: str | os.PathLike[str] | None = None,
    unported: list[str] | None = None,
) -> int:
    """Copy the tree at `root` to `out` with `files` (path -> ported bytes) in place of the originals, without those that
    are None; returns how many files and links the copy has.

    The paths of `files`, and `exclude`, are relative to `project`, of which `root` may be a part. `exclude` only says
    whether an `out` inside of `root` would be left out of the next run. `unported` receives the links to folders of
    the project that are not copied. Raises FilesError (out-not-empty, out-inside, out-edited, out-foreign,
    out-reserved, locked, unreadable, unwritable).
    """
    walk, whole = Walk(root, names=VCS | MADE), Walk(root if project is None else project, exclude)
    target, shown = os.path.realpath(out), os.fspath(out)
    inside = _inside(walk, whole, target, shown)
    pieces = pieces_of(walk, whole, files, inside, unported if unported is not None else [])
    Record(target, shown)  # nothing is made in a folder that is somebody's
    with as_files_error("unwritable", shown):
        os.makedirs(target, exist_ok=True)
        if not os.access(target, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
        lock = Lock(os.path.join(target, LOCK), shown)
        if not any(lock.acquire() for _ in range(ATTEMPTS)):
            raise FilesError("locked", path=shown, pid="?")
    try:
        _Copy(target, shown, pieces).write()
    finally:
        lock.release(clear=True)
    return sum(piece.kind != FOLDER for piece in pieces.values())


def _inside(walk: Walk, whole: Walk, target: str, shown: str) -> str | None:
    """Where in the tree the copy will be; None outside of it."""
    inside = next((os.path.relpath(target, f) for f in _upwards(target) if _same(f, walk.root)), None)
    if inside is None and not any(_same(folder, target) for folder in _upwards(walk.root)):
        return None
    start = whole.relative(walk.root) or ""
    if inside is not None and inside != ".":
        inside = inside.replace(os.sep, "/")
        if whole.is_left_out(f"{start}/{inside}" if start else inside, True, start):
            return inside
    raise FilesError("out-inside", path=shown)


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield (folder := above)


def _same(path: str, other: str) -> bool:
    """Also where names differ in case only, or a folder is mounted twice."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


class _Copy:
    """First everything is looked at, then anything is written."""

    def __init__(self, target: str, shown: str, pieces: dict[str, Piece]):
        self.target, self.shown, self.pieces = target, shown, pieces
        self.record = Record(target, shown)
        self.states: dict[str, State] = {}  # of what is porter's in the copy
        self.signatures: dict[str, tuple[int, ...] | None] = {}  # of what stood in the copy when it was looked at
        self.obsolete: list[str] = []
        self.hollow: list[str] = []  # folders in the way that hold nothing else

    def write(self) -> None:
        self.record.sweep()
        for path in self.record.states:
            piece = self.pieces.get(path)
            if piece is None or piece.kind == FOLDER:
                if not leads_away(self.target, path) and (self._ours(path) or self.signatures[path] is None):
                    self.obsolete.append(path)
        gone = set(self.obsolete)
        for path in self.pieces:
            if path not in gone:
                self._admit(path, gone)
        with as_files_error("unwritable", self.shown):
            self.record.start(self.states)
        try:
            for path in sorted(self.obsolete, reverse=True):
                with as_files_error("unwritable", self._shown(path)):
                    self._remove(path)
            for path in self.hollow:
                with as_files_error("unwritable", self._shown(path)):
                    for folder, *_ in os.walk(place(self.target, path), topdown=False):
                        os.rmdir(folder)
            for path, piece in self.pieces.items():
                with as_files_error("unwritable", self._shown(path)):
                    self._make_folder(path) if piece.kind == FOLDER else self._put(path, piece)
            for path, piece in reversed(self.pieces.items()):
                if piece.kind == FOLDER:  # last: a read-only folder could not be filled
                    with as_files_error("unwritable", self._shown(path)):
                        shutil.copymode(piece.source, place(self.target, path))
            with as_files_error("unwritable", self.shown):
                self.record.close(self.states)
        finally:
            self.record.close()

    def _ours(self, path: str) -> bool:
        """Whether porter left it as it is; then that is on record from now on."""
        file = place(self.target, path)
        with as_files_error("unreadable", self._shown(path)):
            self.signatures[path] = _signature(file)
            state = look(file)
        known = next((written for written in self.record.states.get(path, ()) if state and written.same(state)), None)
        if known is not None:
            self.states[path] = known
        return known is not None

    def _admit(self, path: str, gone: set[str]) -> None:
        piece, file = self.pieces[path], place(self.target, path)
        if self._ours(path) or self.signatures[path] is None:
            return
        with as_files_error("unreadable", self._shown(path)):
            state = look(file)
        if state is not None and state.kind == FOLDER:
            if piece.kind == FOLDER:
                return
            if self._only(path, gone):
                self.hollow.append(path)
                self.signatures[path] = None
                return
        elif path in self.record.states:
            # the same edit, made in the tree as well
            if state is not None and piece.kind != FOLDER and piece.state().same(state):
                self.states[path] = state._replace(mode=self.record.states[path][0].mode)
                return
            raise FilesError("out-edited", path=self._shown(path))
        raise FilesError("out-foreign", path=self._shown(path))

    def _only(self, folder: str, gone: set[str]) -> bool:
        """Whether the folder holds nothing but files that go away."""
        for above, folders, names in os.walk(place(self.target, folder)):
            inside = os.path.relpath(above, self.target).replace(os.sep, "/")
            links = [name for name in folders if os.path.islink(os.path.join(above, name))]
            if any(f"{inside}/{name}" not in gone for name in names + links):
                return False
        return True

    def _untouched(self, path: str) -> None:
        """As late as possible: somebody may have been there meanwhile. On a file system that does not tell upper from
        lower case it may be another file of the tree."""
        if leads_away(self.target, path) or _signature(place(self.target, path)) != self.signatures[path]:
            raise FilesError("out-edited" if path in self.states else "out-foreign", path=self._shown(path))

    def _remove(self, path: str) -> None:
        self._untouched(path)
        file = place(self.target, path)
        if self.signatures[path] is not None:
            _open_up(os.path.dirname(file))
            os.unlink(file)
            del self.states[path]
            self.signatures[path] = None
        for folder in _upwards(os.path.dirname(file)):
            try:
                os.rmdir(folder)
            except FileNotFoundError:  # a run that was killed came that far
                continue
            except OSError:
                break

    def _make_folder(self, path: str) -> None:
        file = place(self.target, path)
        with suppress(FileExistsError):
            os.mkdir(file)
        if leads_away(self.target, f"{path}/") or not stat.S_ISDIR(os.lstat(file).st_mode):
            raise FilesError("out-foreign", path=self._shown(path))
        _open_up(file)

    def _put(self, path: str, piece: Piece) -> None:
        file = place(self.target, path)
        beside = os.path.join(os.path.dirname(file), TEMPORARY)
        has_temporary = False
        if os.path.lexists(beside):  # not what a kill left: that was swept
            raise FilesError("out-foreign", path=os.path.join(os.path.dirname(self._shown(path)), TEMPORARY))
        self.record.begin(path)
        try:
            if piece.kind == LINK:
                os.symlink(piece.text, beside, target_is_directory=os.path.isdir(piece.source))
                has_temporary, state = True, piece.state()
            else:
                with open(beside, "xb", opener=_private) as stream:
                    has_temporary = True
                    state = self._fill(path, piece, stream)
                self._dress(path, piece, beside, state)
            self._untouched(path)
            self.record.intend(path, state)
            os.replace(beside, file)
            has_temporary = False
        finally:
            if has_temporary:
                with suppress(OSError):
                    os.unlink(beside)
        self.states[path] = state

    def _fill(self, path: str, piece: Piece, stream: BinaryIO) -> State:
        with as_files_error("unreadable", path):
            # what is made anew has no original
            mode = stat.S_IMODE(os.stat(piece.source).st_mode) if os.path.lexists(piece.source) else 0o644
        if piece.data is None:
            return State(FILE, digest_of(piece.source, stream), mode)
        stream.write(piece.data)
        return State(FILE, digest(piece.data), mode)

    def _dress(self, path: str, piece: Piece, beside: str, state: State) -> None:
        if piece.data is None:
            shutil.copystat(piece.source, beside)
        mode, old = state.mode, self.states.get(path)
        if old is not None and old.kind == FILE:
            current_mode = stat.S_IMODE(os.lstat(place(self.target, path)).st_mode)
            mode = current_mode if current_mode != old.mode else mode
        os.chmod(beside, mode)

    def _shown(self, path: str) -> str:
        return f"{self.shown.rstrip(os.sep)}/{path}"


def _signature(file: str) -> tuple[int, ...] | None:
    """Changes with whatever is done to a file."""
    try:
        status = os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _private(file: str, flags: int) -> int:
    """Nobody else reads it before it has the mode of its original."""
    return os.open(file, flags, 0o600)


def _open_up(folder: str) -> None:
    """A read-only folder could not be filled. It has the mode of its original again at the end."""
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if mode & 0o700 != 0o700:
        os.chmod(folder, mode | 0o700)
