"""Many files, all or nothing: against full disks, kill -9 and power cuts.

Below `<root>/.porter` (which ignores itself) every run has a folder: the new bytes, the old bytes and a manifest first;
then one small sealed file says how far it got, renamed from state to state, which needs no room on a full disk:

    (none)     nothing was touched yet                   next run that writes: throw the folder away
    committed  files are being replaced one by one       next run that writes: replace the others
    failed     files are being put back one by one       next run that writes: put the others back
    finished   all are replaced; `undo` can go back
    undone     it did, but for files that were changed since; `undo` tries these again
    unkept     as committed, of a run without undo       next run that writes: say so, throw the folder away

Only runs that files/seal.py proves are acted upon; `.porter` goes when nothing is on record any more. A run without undo
needs no proof, for nobody acts upon it: it puts its files back itself when one of them fails, and only then.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from porter.files.errors import FilesError, Message, reason
from porter.files.lock import ATTEMPTS, Lock
from porter.files.read import digest
from porter.files.runs import DONE, HOME, Entry, Home, Run, digest_now
from porter.files.seal import find_secret, make_secret
from porter.files.write import ABSENT, check, resolve

__all__ = ["Transaction", "Undone", "edited", "has_runs", "last_written", "look", "originals", "recover", "undo"]


@dataclass(frozen=True, slots=True)
class Undone:
    restored: tuple[str, ...] = ()
    refused: tuple[FilesError, ...] = ()  # changed or gone since the run: left alone


class Transaction:
    """with Transaction(root) as run: run.add(path, data, before) ...; run.commit()

    `add` checks the file and stores old and new bytes; what it refuses (FilesError) can be left out and the run go on.
    Nothing outside of `.porter` changes before `commit`, which replaces all files or none. Opening takes the lock and
    mends what an earlier run left (`recovered`). Without `commit` nothing remains. Without `kept` there is no undo.
    """

    def __init__(self, root: str | os.PathLike[str], kept: bool = True, ports: bool = True):
        self.root, self.kept, self.ports = os.path.realpath(root), kept, ports
        self.home = Home(self.root, make_secret(self.root) if kept else _secret(self.root))
        self.recovered: Message | None = None
        self.run: Run | None = None
        self.lock = Lock(self.home.file("lock"), HOME)
        self.packs: list[BinaryIO] = []
        self.places = [0, 0]

    def __enter__(self) -> Transaction:
        self._enter()
        try:
            self.home.make()
            self.home.hide()
            self.recovered = _recover(self.home)
        except BaseException:
            self._leave()
            raise
        return self

    def _enter(self) -> None:
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError):
                self.home.make()
                if self.lock.acquire():
                    return
        raise FilesError("locked", path=HOME, pid="?")

    def __exit__(self, *_: object) -> None:
        self._close()
        with suppress(OSError):
            if self.run is not None and not self.run.state() and self.run.is_folder():
                self.run.remove()
        self._leave()

    def _leave(self) -> None:
        empty = self.home.clear()
        self.lock.release(clear=empty)
        if empty:
            with suppress(OSError):  # another porter came
                os.rmdir(self.home.file())

    def add(self, path: str, data: bytes | None, before: str | None = None, edited: int = 0) -> None:
        """`data` is None where the file is removed, `before` is ABSENT where it is made."""
        old = check(self.root, path, before)
        try:
            if self.run is None:
                self.run = self.home.new_run()
                self.packs = [open(self.run.file(name), "wb") for name in ("before", "after")]  # noqa: SIM115
            places = []
            for number, piece in enumerate((old, data or b"")):
                self.packs[number].write(piece)
                places.append((self.places[number], len(piece)))
                self.places[number] += len(piece)
        except OSError as error:
            raise FilesError("journal", path=HOME, error=reason(error)) from None
        digests = ABSENT if before == ABSENT else digest(old), ABSENT if data is None else digest(data)
        self.run.manifest.files.append(Entry(path, *digests, places[0], places[1], edited))

    def commit(self) -> int:
        """Replaces the files; returns how many. Raises FilesError (journal, rolled-back, half-written)."""
        run = self.run
        if run is None:
            return 0
        run.manifest.ports = self.ports
        try:
            for pack in self.packs:
                pack.flush()
                os.fsync(pack.fileno())
            self._close()
            run.save(self.kept)
        except OSError as error:
            raise FilesError("journal", path=HOME, error=reason(error)) from None
        try:
            run.settle("after", strict=True)
            run.finish()
        except BaseException as error:
            _put_back(run, error)
            raise
        return len(run.manifest.files)

    def _close(self) -> None:
        for pack in self.packs:
            with suppress(OSError):  # what a full disk could not take is reported where it was written
                pack.close()


def _secret(root: str) -> bytes | None:
    """Where the user's secret cannot be trusted, no journal is."""
    with suppress(FilesError):
        return find_secret(root)
    return None


def _open(root: str | os.PathLike[str]) -> Home:
    real = os.path.realpath(root)
    return Home(real, _secret(real))


def last_written(root: str | os.PathLike[str]) -> dict[str, str]:
    """What `Home.written` says, for those who only read."""
    return _open(root).written()


def edited(root: str | os.PathLike[str]) -> dict[str, int]:
    """What `Home.edited` says, for those who only read; nothing where a journal is damaged, which `look` tells."""
    try:
        return _open(root).edited()
    except FilesError:
        return {}


def has_runs(root: str | os.PathLike[str]) -> bool:
    """Whether runs of ours are on record there."""
    return any(run.state() and run.proof() for run in _open(root).runs())


def originals(root: str | os.PathLike[str]) -> dict[str, bytes]:
    """What files were before the ports that are on record and not undone: the first of several counts."""
    contents: dict[str, bytes] = {}
    for run in reversed(_open(root).runs()):
        if run.state() == "finished" and run.proof():
            run.load()
            contents.update((entry.path, data) for entry, data in run.pieces("before") if run.manifest.ports)
    return contents


def look(root: str | os.PathLike[str]) -> Message | None:
    """What somebody who only reads the tree has to know of its journal. Writes nothing, waits for nobody."""
    home = _open(root)
    if not os.path.lexists(home.file()):
        return None
    if not home.is_folder():
        return Message("ignored-journal", path=HOME)
    unfinished = None
    for run in home.runs():
        state = run.state()
        if state == "unkept":
            unfinished = Message("unkept")
        elif state and not run.proof():
            return Message("ignored-journal", path=run.shown)
        elif state and state not in DONE:
            unfinished = Message("unfinished")
    return unfinished


def _put_back(run: Run, error: BaseException) -> None:
    state = run.state()
    if state not in ("committed", "unkept"):
        return
    path, cause = _blame(error)
    try:
        if state == "committed":
            run.to("failed")
        run.settle("before")
        run.remove()
    except (OSError, FilesError):
        raise FilesError("half-written" if state == "committed" else "half-unkept", path=path, error=cause) from error
    if isinstance(error, (FilesError, OSError)):
        raise FilesError("rolled-back", path=path, error=cause) from error


def _blame(error: BaseException) -> tuple[str, str]:
    if isinstance(error, FilesError):
        return error.path, str(error.args[1].get("error") or error.text().removeprefix(f"{error.path}: "))
    return HOME, reason(error) if isinstance(error, OSError) else type(error).__name__


def recover(root: str | os.PathLike[str], kept: bool = True) -> Message | None:
    """Finish or undo what an interrupted run left; None where there is nothing to do. For those who are about to write:
    raises FilesError (locked, recover-failed, foreign-journal, damaged-journal, state-...) where they must not."""
    real = os.path.realpath(root)
    home = Home(real, make_secret(real) if kept else _secret(real))
    runs = home.runs()
    if not os.path.lexists(home.file()) or (runs and all(run.state() in DONE and run.proof() for run in runs)):
        return None
    with Transaction(root, kept) as transaction:
        return transaction.recovered


def _recover(home: Home) -> Message | None:
    message, runs = None, [(run, run.state()) for run in home.runs()]
    for run, state in runs:
        if state not in ("", "unkept") and not run.proof():
            raise FilesError("foreign-journal", path=run.shown)
    for run, state in runs:
        if state in DONE:
            continue
        try:
            if state in ("", "unkept"):
                run.remove()
                message = message or Message("unkept" if state else "discarded")
            else:
                message = _mend(run, state)
        except FilesError as error:
            if error.key == "damaged-journal":
                raise
            path, cause = _blame(error)
            raise FilesError("recover-failed", path=path, error=cause) from None
        except OSError as error:
            raise FilesError("recover-failed", path=HOME, error=reason(error)) from None
    home.sweep()
    return message


def _mend(run: Run, state: str) -> Message:
    run.load()
    side = "after" if state == "committed" else "before"
    for _ in run.pieces(side):  # before the first file is touched: the bytes of all of them are as they were stored
        pass
    alone = run.settle(side)
    if state == "committed":
        run.finish()
        key = "undo-finished" if run.manifest.undoes else "finished"
    else:
        run.remove()
        key = "put-back"
    if alone:
        return Message(f"{key}-except", count=len(run.manifest.files) - len(alone), paths=", ".join(alone))
    return Message(key, count=len(run.manifest.files))


def undo(root: str | os.PathLike[str]) -> Undone:
    """Put back the files of the last finished run; those changed since are refused, the others put back all or none.
    Raises FilesError (nothing-to-undo, locked, rolled-back, foreign-journal, ...)."""
    nothing = FilesError("nothing-to-undo", root=os.path.basename(os.path.realpath(root)) or os.fspath(root))
    if not os.path.lexists(os.path.join(root, HOME)):
        raise nothing
    with Transaction(root) as transaction:
        runs = transaction.home.runs()
        last_run = next((run for state in DONE for run in runs[::-1] if run.state() == state), None)
        if last_run is None:
            raise nothing
        last_run.load()
        restored, refused = [], []
        for entry, data in last_run.pieces("before"):
            try:
                transaction.add(entry.path, None if entry.before == ABSENT else data, entry.after)
            except FilesError as error:
                if error.key == "journal":
                    raise
                if error.key != "changed":
                    refused.append(error)
                elif digest_now(resolve(transaction.root, entry.path, True)) != entry.before:
                    refused.append(FilesError("edited", path=entry.path))
                continue
            restored.append(entry.path)
        if (run := transaction.run) is not None:
            run.manifest.undoes, run.manifest.rest = last_run.name, bool(refused)
            transaction.commit()
        else:
            last_run.retire(bool(refused))
        return Undone(tuple(restored), tuple(refused))
