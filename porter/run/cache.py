"""Keeps results of analyses in the user's cache directory. A cache that cannot be used counts as empty.

Commands that only report use it. Commands that write or run edits find everything anew, because the analysis keeps the
promises, and a cached file cannot: a kept fact of another file may be why a place has to stay as it is.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from zlib import adler32

from porter import __version__
from porter.engine.session import Session
from porter.finding import FileResult
from porter.resources import cache_dir, is_ours, make_ours, rules_dir
from porter.run.plain import Plain, result_of, row_of
from porter.run.said import may_pass

LAYOUT = 3
RUNS = 8  # whole runs that are kept, the latest
MOST = 200_000_000  # bytes; a larger cache is begun anew
MOST_OF_RUNS = MOST // 4  # bytes of whole runs: eight of a huge project must not end the cache
JOURNALS = ("-journal", "-wal", "-shm")
TROUBLE = (sqlite3.Error, OSError, ValueError, TypeError, EOFError)


class Cache:
    """A SQLite file with results of analyses, and with other values that take long to compute."""

    def __init__(self, file: Path | None = None, anew: bool = False):
        """`anew`: kept results of files are not used, and the new ones take their place."""
        self.file = file or cache_dir() / "analyses.sqlite"
        self.anew = anew
        self._base: sqlite3.Connection | None = None  # as long as a run asks for what is remembered
        self._made: list[tuple[str, str, bytes]] = []
        self._asking: tuple[Session, str] | None = None  # who asks for single files, and its key

    @property
    def foreign(self) -> bool:
        """Whether the folder of the cache exists, but belongs to another user, or others can write to it."""
        return os.path.lexists(self.file.parent) and not is_ours(self.file.parent)

    def _believed(self) -> bool:
        return is_ours(self.file.parent) and self._is_whole()

    def _is_whole(self) -> bool:
        """Whether the cache is a regular file of this user, and so are its journals, which SQLite plays back. The file may
        be a pipe, for which SQLite would wait forever."""
        status = os.lstat(self.file)
        beside = [name for end in JOURNALS if os.path.lexists(name := f"{self.file}{end}")]
        return stat.S_ISREG(status.st_mode) and status.st_size <= MOST and all(map(is_ours, (str(self.file), *beside)))

    def _remove(self) -> None:
        for end in ("", *JOURNALS):
            with suppress(FileNotFoundError):
                os.unlink(f"{self.file}{end}")

    def known(
        self, wanted: list[tuple[int, str, str]], session: Session
    ) -> tuple[list[FileResult], list[tuple[int, str, str]]]:
        """The kept results for files of `wanted` (size, path, digest), and the files without one."""
        results: list[FileResult] = []
        missing = wanted
        try:
            if wanted and not self.anew and self._believed():
                with closing(self._open()) as base:
                    rows = dict(base.execute("select key, data from results where run = ?", (run_key(session),)))
                results = [r for item in wanted if (r := _result(rows.get(_key(item[1], item[2], session)), item))]
                names = {result.path for result in results}
                missing = [item for item in wanted if item[1] not in names]
        except TROUBLE:
            return [], wanted
        return results, missing

    def found(self, path: str, digest: str, session: Session) -> FileResult | None:
        """The result of a single file: of many that a run does not look at by itself."""
        if self.anew:
            return None
        if self._asking is None or self._asking[0] is not session:
            self._asking = session, run_key(session)
        with suppress(*TROUBLE):
            return _result(self._row(self._asking[1], _key(path, digest, session)), (0, path, digest))
        return None

    def keep(self, results: Iterable[FileResult], session: Session) -> None:
        """Keeps results, but not of files that could not be read (they have no digest) or that made porter crash."""
        key = run_key(session)
        self._write(
            [
                (key, _key(r.path, r.digest, session), _sealed(row_of(r)))
                for r in results
                if r.digest and not may_pass((r,))
            ]
        )

    def remember(self, key: str, make: Callable[[], Plain]) -> Plain:
        """What `make` makes of all that `key` tells: a tuple of plain values; from an earlier run where there is one."""
        code = _code()
        with suppress(*TROUBLE):
            if (known := _opened(self._row(code, key))) is not None:
                return known
        made = make()
        with suppress(*TROUBLE):  # what cannot be kept is made anew in the next run
            self._made.append((code, key, _sealed(made)))
        return made

    def _row(self, run: str, key: str) -> bytes | None:
        with suppress(*TROUBLE):
            if self._base is None and self._believed():
                self._base = self._open()
            if self._base is not None:
                row = self._base.execute("select data from results where run = ? and key = ?", (run, key)).fetchone()
                return row[0] if row else None
        return None

    def close(self) -> None:
        """What was made is kept from here on: at once, for a project may ask for thousands of things."""
        made, self._made = self._made, []
        if made:
            self._write(made)
        if self._base is not None:
            self._base.close()
            self._base = None

    def run(self, key: str) -> Plain | None:
        """What was kept of a whole run under a key that tells all but what it read."""
        with suppress(*TROUBLE):
            if not self.anew and self._believed():
                with closing(self._open()) as base:
                    row = base.execute("select data from runs where key = ?", (key,)).fetchone()
                return _opened(row[0]) if row else None
        return None

    def keep_run(self, key: str, row: Plain) -> None:
        if len(sealed := _sealed(row)) <= MOST_OF_RUNS:
            self._write([], (key, sealed))

    def _write(self, rows: list[tuple[str, str, bytes]], run: tuple[str, bytes] | None = None) -> None:
        try:
            if not make_ours(self.file.parent):
                return
            with suppress(FileNotFoundError):
                if not self._is_whole():
                    self._remove()
            with suppress(FileExistsError):  # a file that SQLite creates gets its rights from the umask
                os.close(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(self._open()) as base, base:
                base.executemany("insert or replace into results values (?, ?, ?)", rows)
                if run:
                    base.execute("insert or replace into runs values (?, ?)", run)
                    sizes = "select rowid, sum(length(data)) over (order by rowid desc) as size from runs"
                    latest = f"select rowid from ({sizes}) where size <= ? order by rowid desc limit ?"
                    base.execute(f"delete from runs where rowid not in ({latest})", (MOST_OF_RUNS, RUNS))
        except sqlite3.DatabaseError as error:
            if not isinstance(error, sqlite3.OperationalError):  # the file is damaged, and not only busy
                with suppress(OSError):
                    self._remove()
        except TROUBLE:
            pass

    def clean(self) -> bool:
        """Removes everything that porter keeps in the folder. Returns whether there was anything."""
        folder, removed = self.file.parent, False
        for file in (self.file, *sorted(folder.glob("rules-*.bin*")), *sorted(folder.glob("page-*.bin*"))):
            with suppress(OSError):
                file.unlink()
                removed = True
        with suppress(OSError):
            folder.rmdir()
        return removed

    def _open(self) -> sqlite3.Connection:
        base = sqlite3.connect(self.file, timeout=2)
        try:
            base.execute("pragma trusted_schema = off")
            base.execute("pragma synchronous = off")
            base.execute("create table if not exists results (run text, key text, data blob, primary key (run, key))")
            base.execute("create table if not exists runs (key text primary key, data blob)")
        except BaseException:
            base.close()
            raise
        return base


def _key(path: str, digest: str, session: Session) -> str:
    """The key of the result for a file. It covers what other files do with the file, and which of its edits are held."""
    about = (session.facts.digest_of(path), *sorted(session.held_in(path).values()))
    return f"{path}\0{digest}" + (f"\0{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}" if any(about) else "")


def run_key(session: Session) -> str:
    """A hash of all that a result depends on besides its file."""
    target = session.target
    raw = (
        LAYOUT,
        __version__,
        sys.version_info[:3],
        _rules(),
        (target.torch_npu, target.soc, target.style, session.fuse),
        session.facts.digest(),
        session.libraries.digest,
        sorted(session.quiet.everywhere),
        [(pattern, sorted(codes)) for pattern, codes in session.quiet.below],
    )
    return hashlib.sha256(repr(raw).encode()).hexdigest()


@lru_cache(maxsize=1)
def _code() -> str:
    """All that what is remembered depends on besides its key."""
    return hashlib.sha256(repr((LAYOUT, __version__, sys.version_info[:3], _rules())).encode()).hexdigest()


@lru_cache(maxsize=1)
def _rules() -> str:
    """A hash of the files of porter's code and rules, by size and time. After a change of them, old results do not count."""
    rows = []
    for top in (rules_dir(), Path(__file__).resolve().parent.parent):
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(set(folders) - {"__pycache__", "report", "commands"})
            for name in sorted(names):
                status = os.stat(os.path.join(folder, name))
                rows.append((name, status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _sealed(row: Plain) -> bytes:
    """The bytes of a row, with a checksum in front."""
    data = marshal.dumps(row)
    return adler32(data).to_bytes(4, "big") + data


def _opened(data: bytes | None) -> Plain | None:
    """What was sealed; None where it is not what it was."""
    if data is None or adler32(data[4:]).to_bytes(4, "big") != data[:4]:
        return None
    row: Plain = marshal.loads(data[4:])
    return row


def _result(data: bytes | None, item: tuple[int, str, str]) -> FileResult | None:
    row = _opened(data)
    result = result_of(row) if row else None
    return result if result and (result.path, result.digest) == item[1:] else None
