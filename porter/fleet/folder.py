"""Results in a folder of this machine, or of a disk that all nodes share."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress

from porter.files.documents import Json
from porter.files.lock import Lock
from porter.files.write import create, flush_folder
from porter.fleet.layout import MARK, ROW, foreign, unwritable, whole

UNFINISHED = ".unfinished"


class Folder:
    def __init__(self, place: str):
        self.shown, self.path = place, os.path.abspath(place)
        self._lock = Lock(os.path.join(self.path, MARK), place)

    def begin(self) -> None:
        try:
            names = os.listdir(self.path) if os.path.lexists(self.path) else []
            if names and MARK not in names:
                raise foreign(self.shown)
            os.makedirs(self.path, exist_ok=True)
        except OSError as error:
            raise unwritable(self.shown, error) from None
        self._lock.acquire()  # makes the mark, before anything else is here; nobody clears it away
        shutil.rmtree(os.path.join(self.path, UNFINISHED), ignore_errors=True)

    def end(self) -> None:
        self._lock.release()

    def row(self, shelf: str, name: str) -> Json | None:
        try:
            return whole(self.read(shelf, name, ROW))
        except OSError:
            return None

    def read(self, shelf: str, name: str, file: str) -> bytes:
        with open(os.path.join(self.path, shelf, name, file), "rb") as stream:
            return stream.read()

    def put(self, shelf: str, name: str, folder: str) -> None:
        try:
            self._put(shelf, name, folder)
        except OSError as error:
            raise unwritable(self.shown, error) from None

    def _put(self, shelf: str, name: str, folder: str) -> None:
        waiting, ready = (os.path.join(self.path, part) for part in (UNFINISHED, shelf))
        for place in (waiting, ready):
            os.makedirs(place, exist_ok=True)
        copy = os.path.join(waiting, f"{name}-{secrets.token_hex(8)}")
        os.mkdir(copy)  # with the rights of any folder: `mkdtemp` makes one for its owner alone
        for file in sorted(os.listdir(folder)):
            shutil.copyfile(os.path.join(folder, file), os.path.join(copy, file))
            _flush(os.path.join(copy, file))
        flush_folder(copy)
        self._replace(copy, os.path.join(ready, name))

    def _replace(self, copy: str, place: str) -> None:
        """Between the two renames there is no result, and a kill leaves none: it is done again, never half."""
        old = copy + ".old"
        while True:
            with suppress(FileNotFoundError):
                os.rename(place, old)
                shutil.rmtree(old, ignore_errors=True)
            try:
                os.rename(copy, place)
                break
            except OSError:  # the task was given to two nodes, and the other was faster
                if not os.path.isdir(place):
                    raise
        flush_folder(os.path.dirname(place))

    def write(self, file: str, text: str) -> None:
        try:
            create(os.path.join(self.path, file), text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise unwritable(self.shown, error) from None


def _flush(file: str) -> None:
    with open(file, "rb") as stream:
        os.fsync(stream.fileno())
