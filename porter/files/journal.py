"""Many files, all or nothing: against full disks, kill -9 and power cuts.

Below `<root>/.porter` (which ignores itself) every run has a folder: the new bytes, the old bytes and a manifest first;
then one small file says how far it got, renamed from state to state, which needs no room on a full disk:

    (none)     nothing was touched yet                   next command: throw the folder away
    committed  files are being replaced one by one       next command: replace the others
    failed     files are being put back one by one       next command: put the others back
    finished   all are replaced; `undo` can go back      undone: it did
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from porter.files.errors import FilesError, Message, reason
from porter.files.lock import Lock
from porter.files.read import digest
from porter.files.runs import HOME, Entry, Run, last_written, make_home, runs, sweep
from porter.files.write import check

DONE = ("finished", "undone")
__all__ = ["Transaction", "Undone", "last_written", "originals", "recover", "undo"]


@dataclass(frozen=True, slots=True)
class Undone:
    restored: tuple[str, ...] = ()
    refused: tuple[FilesError, ...] = ()  # changed or gone since the run: left alone


class Transaction:
    """with Transaction(root) as run: run.add(path, data, before) ...; run.commit()

    `add` checks the file and stores old and new bytes; what it refuses (FilesError) can be left out and the run go on.
    Nothing outside of `.porter` changes before `commit`, which replaces all files or none. Opening takes the lock and
    mends what an earlier run left (`recovered`). Without `commit` nothing remains.
    """

    def __init__(self, root: str | os.PathLike):
        self.root = os.path.realpath(root)
        self.home = os.path.join(self.root, HOME)
        self.recovered: Message | None = None
        self.undoes = ""
        self.run: Run | None = None
        self.lock = Lock(os.path.join(self.home, "lock"), HOME)
        self.packs: list = []
        self.places = [0, 0]

    def __enter__(self) -> Transaction:
        make_home(self.home)
        self.lock.acquire()
        try:
            self.recovered = _recover(self.root, self.home)
            self.written = last_written(self.root)
        except BaseException:
            self.lock.release()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._close()
        with suppress(OSError):
            if self.run is not None and not self.run.state() and os.path.isdir(self.run.file()):
                self.run.remove()
        self.lock.release()

    def add(self, path: str, data: bytes, before: str | None = None) -> None:
        old = check(self.root, path, before)
        try:
            if self.run is None:
                self.run = Run.make(self.root, self.home, self.undoes)
                self.packs = [open(self.run.file(name), "wb") for name in ("before", "after")]
            places = []
            for number, piece in enumerate((old, data)):
                self.packs[number].write(piece)
                places.append((self.places[number], len(piece)))
                self.places[number] += len(piece)
        except OSError as error:
            raise FilesError("journal", path=HOME, error=reason(error)) from None
        first = digest(old)
        ours = self.written.get(path) == first
        self.run.entries.append(Entry(path, first, digest(data), places[0], places[1], ours))

    def commit(self) -> int:
        """Replaces the files; returns how many. Raises FilesError (journal, rolled-back, half-written)."""
        run = self.run
        if run is None:
            return 0
        try:
            for pack in self.packs:
                pack.flush()
                os.fsync(pack.fileno())
            self._close()
            run.save()
        except OSError as error:
            raise FilesError("journal", path=HOME, error=reason(error)) from None
        try:
            run.settle("after", strict=True)
            run.finish()
        except BaseException as error:
            _put_back(run, error)
            raise
        return len(run.entries)

    def _close(self) -> None:
        for pack in self.packs:
            with suppress(OSError):  # what a full disk could not take is reported where it was written
                pack.close()


def originals(root: str | os.PathLike) -> dict[str, bytes]:
    """What files were before the runs that are on record and not undone: the first of several counts."""
    real = os.path.realpath(root)
    found: dict[str, bytes] = {}
    for run in reversed(runs(real, os.path.join(real, HOME))):
        if run.state() == "finished":
            run.load()
            found.update((entry.path, data) for entry, data in run.pieces("before"))
    return found


def _put_back(run: Run, error: BaseException) -> None:
    if run.state() != "committed":
        return
    path, cause = _blame(error)
    try:
        run.to("failed")
        run.settle("before")
        run.remove()
    except (OSError, FilesError):
        raise FilesError("half-written", path=path, error=cause) from error
    if isinstance(error, (FilesError, OSError)):
        raise FilesError("rolled-back", path=path, error=cause) from error


def _blame(error: BaseException) -> tuple[str, str]:
    if isinstance(error, FilesError):
        return error.path, str(error.args[1].get("error") or error.text().removeprefix(f"{error.path}: "))
    return HOME, reason(error) if isinstance(error, OSError) else type(error).__name__


def recover(root: str | os.PathLike) -> Message | None:
    """Finish or undo what an interrupted run left; None where there is nothing to do, which costs one look. Raises
    FilesError (locked, recover-failed, foreign-journal)."""
    home = os.path.join(os.path.realpath(root), HOME)
    if all(run.state() in DONE for run in runs(os.path.dirname(home), home)):
        return None
    with Transaction(root) as transaction:
        return transaction.recovered


def _recover(root: str, home: str) -> Message | None:
    sweep(home)
    message = None
    for run in runs(root, home):
        state = run.state()
        if state in DONE:
            continue
        try:
            if state:
                message = _mend(run, state)
            else:
                run.remove()
                message = message or Message("discarded")
        except FilesError as error:
            if error.key in ("foreign-journal", "protected"):
                raise FilesError("foreign-journal", path=f"{HOME}/runs/{run.name}") from None
            path, cause = _blame(error)
            raise FilesError("recover-failed", path=path, error=cause) from None
        except OSError as error:
            raise FilesError("recover-failed", path=HOME, error=reason(error)) from None
    return message


def _mend(run: Run, state: str) -> Message:
    run.load()
    if state == "committed":
        alone = run.settle("after")
        run.finish()
        key = "undo-finished" if run.undoes else "finished"
    else:
        alone = run.settle("before")
        run.remove()
        key = "put-back"
    if alone:
        return Message(f"{key}-except", count=len(run.entries) - len(alone), paths=", ".join(alone))
    return Message(key, count=len(run.entries))


def undo(root: str | os.PathLike) -> Undone:
    """Put back the files of the last finished run that is not undone yet; those changed since are refused, the others
    put back all or none. Raises FilesError (nothing-to-undo, locked, rolled-back, ...)."""
    with Transaction(root) as transaction:
        finished = [run for run in runs(transaction.root, transaction.home) if run.state() == "finished"]
        if not finished:
            raise FilesError("nothing-to-undo", root=os.path.basename(transaction.root) or transaction.root)
        last = finished[-1]
        last.load()
        transaction.undoes = last.name
        restored, refused = [], []
        for entry, data in last.pieces("before"):
            try:
                transaction.add(entry.path, data, entry.after)
            except FilesError as error:
                if error.key == "journal":
                    raise
                refused.append(error)
                continue
            transaction.run.entries[-1].record = entry.ours
            restored.append(entry.path)
        transaction.commit()
        return Undone(tuple(restored), tuple(refused))
