"""Keeps results of analyses in the user's cache directory. A cache that cannot be used counts as empty.

Commands that only report use these results. Commands that write or run edits analyse their files anew, because the analysis
keeps the promises, and a cached file cannot. Even they use what `remember` keeps of other files, such as CUDA sources: this
may remove edits, but makes none.
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
from typing import Any, TypeAlias
from zlib import adler32

from porter import __version__
from porter.engine.session import Session
from porter.finding import Change, FileResult, Finding, Site
from porter.resources import cache_dir, is_ours, make_ours, rules_dir

Plain: TypeAlias = tuple[Any, ...]  # values that marshal can write
LAYOUT = 3  # goes up when rows are packed in another way
MOST = 200_000_000  # bytes; a larger cache is removed and begun anew
JOURNALS = ("-journal", "-wal", "-shm")  # the ends of the names of SQLite's further files
# what reading or writing the cache may raise; then porter goes on without it
TROUBLE = (sqlite3.Error, OSError, ValueError, TypeError, EOFError)


class Cache:
    """A SQLite file with results of analyses, and with other values that take long to compute."""

    def __init__(self, file: Path | None = None, anew: bool = False):
        """`anew`: kept results of files are not used, and the new ones take their place."""
        self.file = file or cache_dir() / "analyses.sqlite"
        self.anew = anew

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

    def keep(self, results: Iterable[FileResult], session: Session) -> None:
        """Keeps results, but not of files that could not be read (they have no digest) or that made porter crash."""
        key = run_key(session)
        self._write(
            [(key, _key(r.path, r.digest, session), _packed(r)) for r in results if r.digest and not _crashed(r)]
        )

    def remember(self, key: str, make: Callable[[], Plain]) -> Plain:
        """The result of `make()`, or that of an earlier run with the same `key`. `key` names all that the result depends on,
        besides porter itself."""
        code = hashlib.sha256(repr((LAYOUT, __version__, sys.version_info[:3], _rules())).encode()).hexdigest()
        with suppress(*TROUBLE):
            if self._believed():
                with closing(self._open()) as base:
                    row = base.execute("select data from results where run = ? and key = ?", (code, key)).fetchone()
                if row and _is_whole(row[0]):
                    known: Plain = marshal.loads(row[0][4:])
                    return known
        made = make()
        self._write([(code, key, _sealed(made))])
        return made

    def _write(self, rows: list[tuple[str, str, bytes]]) -> None:
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
        except sqlite3.DatabaseError as error:
            if not isinstance(error, sqlite3.OperationalError):  # the file is damaged, and not only busy
                with suppress(OSError):
                    self._remove()
        except TROUBLE:
            pass

    def clean(self) -> bool:
        """Removes everything that porter keeps in the folder. Returns whether there was anything."""
        folder, removed = self.file.parent, False
        for file in (self.file, *sorted(folder.glob("rules-*.bin*"))):
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


def _crashed(result: FileResult) -> bool:
    return any(f.code == "PRT003" for f in result.findings)


def _packed(result: FileResult) -> bytes:
    findings = [
        (
            f.path, f.line, f.column, f.code, f.why, f.values, f.end_line, f.end_column, f.severity, f.status, f.effort,
            _plain(f.edit), f.suppressed, f.optional,
        )
        for f in result.findings
    ]  # fmt: skip
    row = (
        result.path, findings, _plain(result.auto), _plain(result.review), result.lines, result.parsed, result.digest,
        result.apis, result.observed, tuple(map(tuple, result.sites)), result.ties,
    )  # fmt: skip
    return _sealed(row)


def _sealed(row: Plain) -> bytes:
    """The bytes of a row, with a checksum in front."""
    data = marshal.dumps(row)
    return adler32(data).to_bytes(4, "big") + data


def _is_whole(data: bytes) -> bool:
    return adler32(data[4:]).to_bytes(4, "big") == data[:4]


def _result(data: bytes | None, item: tuple[int, str, str]) -> FileResult | None:
    """The result in these bytes; None if they are damaged, or of another file than `item`."""
    if data is None or not _is_whole(data):
        return None
    path, findings, auto, review, lines, parsed, digest, apis, observed, sites, ties = marshal.loads(data[4:])
    if (path, digest) != item[1:]:
        return None
    restored = tuple(map(_finding, findings))
    sites = tuple(Site(*row) for row in sites)
    return FileResult(
        path, restored, _changes(auto), _changes(review), lines, parsed, digest, apis, observed, sites, ties
    )


def _finding(row: Plain) -> Finding:
    fields: Plain = (*row[:11], _changes(row[11]), *row[12:])
    return Finding(*fields)


def _plain(changes: Iterable[Change]) -> Plain:
    return tuple((c.start, c.end, c.new) for c in changes)


def _changes(rows: Iterable[Plain]) -> tuple[Change, ...]:
    return tuple(Change(*row) for row in rows)
