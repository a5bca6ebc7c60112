"""`.porter`, and in it the folder of each journalled run: old bytes, new bytes, manifest, and one small file that says
how far it got."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from porter.files.errors import FilesError, reason
from porter.files.read import digest, digest_of, open_regular
from porter.files.seal import LONGEST, Proof, proof, seal
from porter.files.write import ABSENT, create, flush_folder, resolve, write
from porter.regex import lazy

HOME = ".porter"
NAME = lazy(r"[0-9]{4,9}")
KEEP = 5
DONE = ("finished", "undone")
STATES = ("committed", "failed", *DONE, "unkept")


@dataclass(slots=True)
class Entry:
    path: str
    before: str  # digests, or ABSENT
    after: str
    old: tuple[int, int]  # place and length in the packs
    new: tuple[int, int]
    places: int = 0  # that stood in the way and were edited


@dataclass(slots=True)
class Manifest:
    """What a run is to replace."""

    undoes: str = ""  # the name of another run
    rest: bool = False  # some files of the run that it undoes stay as they are
    ports: bool = True  # what was before it is the original of a port
    files: list[Entry] = field(default_factory=list)


@dataclass(frozen=True)
class Home:
    """`<root>/.porter`. `secret` proves which runs are porter's; without one none is."""

    root: str
    secret: bytes | None = None

    def file(self, *name: str) -> str:
        return os.path.join(self.root, HOME, *name)

    def make(self) -> None:
        """The folders. Links that came with somebody's repository are not followed. Raises FileNotFoundError where
        another porter clears them away at this moment."""
        try:
            for folder in (self.file(), self.file("runs")):
                with suppress(FileExistsError):
                    os.mkdir(folder, 0o700)  # it will hold copies of files that others may not read
                if not stat.S_ISDIR(os.lstat(folder).st_mode):
                    raise FilesError("foreign-journal", path=HOME)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise FilesError("journal", path=HOME, error=reason(error)) from None

    def hide(self) -> None:
        """From git."""
        try:
            if not os.path.lexists(self.file(".gitignore")):
                create(self.file(".gitignore"), b"*\n")
        except OSError as error:
            raise FilesError("journal", path=HOME, error=reason(error)) from None

    def clear(self) -> bool:
        """Whether nothing is on record any more, and only the lock is left of what porter put there."""
        with suppress(OSError):
            os.rmdir(self.file("runs"))
            names = set(os.listdir(self.file()))
            if names <= {".gitignore", ".gitignore.tmp", "lock"}:
                for name in names - {"lock"}:
                    os.unlink(self.file(name))
                return True
        return False

    def is_folder(self) -> bool:
        return _is_folder(self.file()) and (_is_folder(self.file("runs")) or not os.path.lexists(self.file("runs")))

    def _names(self) -> list[str]:
        if _is_folder(self.file()) and _is_folder(self.file("runs")):
            with suppress(OSError):
                return sorted(os.listdir(self.file("runs")))
        return []

    def runs(self) -> list[Run]:
        """The oldest first."""
        runs = [Run(self, name) for name in self._names() if NAME.fullmatch(name)]
        return sorted((run for run in runs if run.is_folder()), key=lambda run: int(run.name))

    def sweep(self) -> None:
        for name in self._names():
            if name.startswith("trash-"):
                shutil.rmtree(self.file("runs", name), ignore_errors=True)

    def written(self) -> dict[str, str]:
        """Digests of the bytes that porter wrote last and did not undo, by path: such a file is as porter left it."""
        digests: dict[str, str] = {}
        for run in self.runs():
            if run.state() == "finished" and run.proof():
                run.load()
                digests.update((entry.path, entry.after) for entry in run.manifest.files)
        return digests

    def edited(self) -> dict[str, int]:
        """How many places of each file were edited by runs that are not undone."""
        counts: dict[str, int] = {}
        for run in self.runs():
            if run.state() == "finished" and run.proof():
                run.load()
                for entry in run.manifest.files:
                    counts[entry.path] = counts.get(entry.path, 0) + entry.places
        return counts

    def new_run(self) -> Run:
        numbers = [
            int(name) for name in (name.removeprefix("trash-") for name in self._names()) if NAME.fullmatch(name)
        ]
        run = Run(self, f"{max(numbers, default=0) + 1:04d}")
        os.mkdir(run.file())
        return run


class Run:
    """One run's folder below `.porter/runs`."""

    def __init__(self, home: Home, name: str):
        self._home, self.name, self.manifest = home, name, Manifest()

    @property
    def shown(self) -> str:
        return f"{HOME}/runs/{self.name}"

    def file(self, *name: str) -> str:
        return self._home.file("runs", self.name, *name)

    def is_folder(self) -> bool:
        return _is_folder(self.file())

    def state(self) -> str:
        return next((state for state in STATES if os.path.lexists(self.file(state))), "")

    def to(self, state: str) -> None:
        os.rename(self.file(self.state()), self.file(state))
        flush_folder(self.file())

    def proof(self) -> Proof | None:
        """What the seal says of the manifest; None where porter did not write this run here."""
        if self._home.secret is None:
            return None
        try:
            with open_regular(self.file(self.state())) as stream:
                return proof(self._home.secret, self._home.root, self.file(), stream.read(LONGEST + 1))
        except OSError:
            return None

    def save(self, kept: bool) -> None:
        """From here on the run is under way. Whatever it needs is on the disk before the file that says so."""
        if kept:
            secret = self._home.secret
            assert secret is not None, "what is kept is proven"
            manifest = json.dumps(asdict(self.manifest), indent=1).encode()
            create(self.file("manifest.json"), manifest)
            for folder in (self._home.file("runs"), self._home.file(), self._home.root):
                flush_folder(folder)
            create(self.file("committed"), seal(secret, self._home.root, self.file(), manifest))
        else:
            create(self.file("unkept"), b"")

    def load(self) -> None:
        """Raises FilesError (foreign-journal, damaged-journal)."""
        proven = self.proof()
        if proven is None:
            raise FilesError("foreign-journal", path=self.shown)
        try:
            with open_regular(self.file("manifest.json")) as stream:
                text = stream.read(proven.size + 1)
        except OSError:
            text = b""
        if digest(text) != proven.digest:
            raise FilesError("damaged-journal", path=self.shown)
        manifest = json.loads(text)
        files = [Entry(**entry) for entry in manifest["files"]]
        self.manifest = Manifest(manifest["undoes"], manifest["rest"], manifest.get("ports", True), files)

    def pieces(self, side: str) -> Iterator[tuple[Entry, bytes]]:
        try:
            with open_regular(self.file(side)) as stream:
                for entry in self.manifest.files:
                    place, length = entry.old if side == "before" else entry.new
                    stream.seek(place)
                    data = stream.read(length)
                    if getattr(entry, side) not in (ABSENT, digest(data)):
                        raise ValueError
                    yield entry, data
        except (OSError, ValueError):
            raise FilesError("damaged-journal", path=self.shown) from None

    def settle(self, side: str, strict: bool = False) -> list[str]:
        """Give all files the bytes of `side`; returns those left alone because they have neither's bytes. `strict`:
        nobody may have touched them since `add`."""
        other = "before" if side == "after" else "after"
        alone, folders = [], set()
        for number, (entry, data) in enumerate(self.pieces(side)):
            temporary = f".porter-{self.name}-{number}.tmp"
            try:
                before, after = getattr(entry, other), getattr(entry, side)
                real = resolve(self._home.root, entry.path, ABSENT in (before, after))
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(os.path.dirname(real), temporary))
                if not strict and digest_now(real) == after:
                    folders.add(os.path.dirname(real))
                    continue
                new = None if after == ABSENT else data
                folders.add(write(self._home.root, entry.path, new, before=before, temporary=temporary, durable=False))
            except FilesError as error:
                if strict or error.key not in ("changed", "vanished", "outside", "protected", "special"):
                    raise
                alone.append(entry.path)
        for folder in sorted(folders):
            flush_folder(folder)
        return alone

    def finish(self) -> None:
        if self.manifest.undoes:
            self.remove()
            undone = Run(self._home, self.manifest.undoes)
            if undone.is_folder():
                undone.retire(self.manifest.rest)
        elif self.state() == "unkept":
            self.remove()
        else:
            self.to("finished")
        with suppress(OSError):
            for run in self._home.runs()[:-KEEP]:
                run.remove()

    def retire(self, has_rest: bool) -> None:
        """It was undone. Where files were left alone, what they were is kept."""
        if not has_rest:
            self.remove()
        elif self.state() == "finished":
            self.to("undone")

    def remove(self) -> None:
        """First out of sight in one step, so that half a folder is never taken for an interrupted run."""
        trash = self._home.file("runs", f"trash-{self.name}")
        os.rename(self.file(), trash)
        flush_folder(self._home.file("runs"))
        shutil.rmtree(trash, ignore_errors=True)


def _is_folder(place: str) -> bool:
    with suppress(OSError):
        return stat.S_ISDIR(os.lstat(place).st_mode)
    return False


def digest_now(real: str) -> str:
    """Empty where it cannot be read: that is found out, and said, where it is written."""
    with suppress(OSError):
        return digest_of(real)
    return ""
