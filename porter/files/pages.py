"""A folder of pages: what porter wrote into it before is replaced, whatever else is there stays as it is.

`.porter-pages` names the pages, each with its SHA-256. A line is added before a page takes its place, so that after a
kill every page is known with its old or its new bytes. A page with any other bytes was changed by somebody.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from contextlib import suppress

from porter.files.errors import FilesError, reason
from porter.files.lock import ATTEMPTS, Lock
from porter.files.read import digest, read
from porter.files.record import FILE, look
from porter.files.write import create
from porter.regex import lazy

RECORD, TEMPORARY, LOCK = ".porter-pages", ".porter-pages.new", ".porter-pages.lock"
OWN = frozenset({RECORD, RECORD + ".tmp", TEMPORARY, LOCK})
HEADER = b'{"porter-pages": 1}\n'
LARGEST = 100_000_000  # a million pages
_NAME = lazy(r"[a-z0-9_-]+\.html")  # a record may have come with somebody's repository


class PagesFolder:
    """Raises FilesError where the folder holds what porter did not write."""

    def __init__(self, shown: str):
        self.shown, self.path = shown, os.path.realpath(shown)
        self.digests: dict[str, set[str]] = {}  # of each page that porter wrote: what it may hold
        try:
            names = set(os.listdir(self.path)) if os.path.lexists(self.path) else set()
        except OSError as error:
            raise FilesError("unwritable", path=shown, error=reason(error)) from None
        try:
            if RECORD in names and not os.path.islink(self._place(RECORD)):
                self._load(read(self._place(RECORD), shown, limit=LARGEST))
            elif names - OWN:
                raise ValueError
        except (FilesError, ValueError, TypeError, RecursionError):
            raise FilesError("pages-not-empty", path=shown) from None

    def _load(self, data: bytes) -> None:
        if not data.startswith(HEADER):
            raise ValueError
        for line in data[len(HEADER) :].split(b"\n")[:-1]:  # behind the last newline is nothing, or a line that was cut
            name, value = json.loads(line)
            if not isinstance(name, str) or not isinstance(value, str) or not _NAME.fullmatch(name):
                raise ValueError
            self.digests.setdefault(name, set()).add(value)

    def write(self, names: Collection[str], pages: Iterable[tuple[str, str]]) -> None:
        """`names` are those of all `pages`, which are made one by one. Nothing is written where one is in the way of
        what is somebody's. Pages that are not written again are removed. Raises FilesError."""
        try:
            os.makedirs(self.path, exist_ok=True)
            lock = Lock(self._place(LOCK), self.shown)
            if not any(lock.acquire() for _ in range(ATTEMPTS)):
                raise FilesError("locked", path=self.shown, pid="?")
            try:
                self._check(names)
                self._write(pages)
                for name in sorted(self.digests.keys() - {*names}):
                    if self._is_ours(name):
                        os.unlink(self._place(name))
                    del self.digests[name]
                create(self._place(RECORD), HEADER + b"".join(map(_line, sorted(self._rows()))))
            finally:
                lock.release(clear=True)
        except OSError as error:
            raise FilesError("unwritable", path=self.shown, error=reason(error)) from None

    def _check(self, names: Collection[str]) -> None:
        for name in sorted(names):
            state = look(self._place(name))
            if state is not None and not self._is_ours(name):
                key = "out-edited" if name in self.digests and state.kind == FILE else "out-foreign"
                raise FilesError(key, path=os.path.join(self.shown, name))

    def _write(self, pages: Iterable[tuple[str, str]]) -> None:
        create(self._place(RECORD), HEADER + b"".join(map(_line, sorted(self._rows()))))
        with open(self._place(RECORD), "ab", buffering=0) as record:
            for name, text in pages:
                data = text.encode("utf-8", "backslashreplace")
                value = digest(data)
                record.write(_line((name, value)))
                with suppress(FileNotFoundError):
                    os.unlink(self._place(TEMPORARY))
                with open(self._place(TEMPORARY), "xb") as stream:
                    stream.write(data)
                os.replace(self._place(TEMPORARY), self._place(name))
                self.digests[name] = {value}

    def _is_ours(self, name: str) -> bool:
        state = look(self._place(name))
        return state is not None and state.kind == FILE and state.value in self.digests.get(name, ())

    def _place(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _rows(self) -> list[tuple[str, str]]:
        return [(name, value) for name, values in self.digests.items() for value in values]


def _line(row: tuple[str, str]) -> bytes:
    return json.dumps(row).encode() + b"\n"
