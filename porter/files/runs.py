"""The folder of one journalled run: old bytes, new bytes, manifest, and one small file that says how far it got."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from porter.files.errors import FilesError, reason
from porter.files.read import digest
from porter.files.write import create, flush_folder, resolve, write

HOME = ".porter"
KEEP = 5
FORMAT = 1
STATES = ("committed", "failed", "finished", "undone")
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(slots=True)
class Entry:
    path: str
    before: str  # digests
    after: str
    old: tuple[int, int]  # place and length in the packs
    new: tuple[int, int]
    ours: bool  # `before` was itself porter's work, so that after an undo the file still counts as porter's
    record: bool = True  # `after` is porter's work

    def __post_init__(self) -> None:
        """What was read back may have come with somebody's repository."""
        parts = self.path.split("/")
        if os.path.isabs(self.path) or not all(parts) or ".." in parts or os.sep in self.path.replace("/", ""):
            raise ValueError(self.path)
        if not (DIGEST.fullmatch(self.before) and DIGEST.fullmatch(self.after)):
            raise ValueError(self.path)


@dataclass
class Run:
    """One run's folder below `.porter/runs`."""

    root: str
    home: str
    name: str
    undoes: str = ""
    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def make(cls, root: str, home: str, undoes: str) -> Run:
        numbers = re.findall(r"\d+", " ".join(names(home)))
        run = cls(root, home, f"{max(map(int, numbers), default=0) + 1:04d}", undoes)
        os.makedirs(run.file())
        return run

    def file(self, *name: str) -> str:
        return os.path.join(self.home, "runs", self.name, *name)

    def state(self) -> str:
        return next((state for state in STATES if os.path.lexists(self.file(state))), "")

    def to(self, state: str) -> None:
        os.rename(self.file(self.state()), self.file(state))
        flush_folder(self.file())

    def save(self) -> None:
        entries = [{name: getattr(entry, name) for name in Entry.__slots__} for entry in self.entries]
        manifest = {"format": FORMAT, "undoes": self.undoes, "files": entries}
        create(self.file("manifest.json"), json.dumps(manifest, indent=1).encode())
        create(self.file("committed"), b"")

    def load(self) -> None:
        try:
            with open(self.file("manifest.json"), encoding="utf-8") as stream:
                manifest = json.load(stream)
            if manifest["format"] != FORMAT or not re.fullmatch(r"\d*", manifest["undoes"]):
                raise ValueError
            self.undoes = manifest["undoes"]
            self.entries = [Entry(**entry) for entry in manifest["files"]]
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise FilesError("foreign-journal", path=f"{HOME}/runs/{self.name}") from None

    def pieces(self, side: str) -> Iterator[tuple[Entry, bytes]]:
        try:
            with open(self.file(side), "rb") as stream:
                for entry in self.entries:
                    place, length = entry.old if side == "before" else entry.new
                    stream.seek(place)
                    data = stream.read(length)
                    if digest(data) != getattr(entry, side):
                        raise ValueError
                    yield entry, data
        except (OSError, ValueError, TypeError):
            raise FilesError("foreign-journal", path=f"{HOME}/runs/{self.name}") from None

    def settle(self, side: str, strict: bool = False) -> list[str]:
        """Give all files the bytes of `side`; returns those left alone because they have neither's bytes. `strict`:
        nobody may have touched them since `add`."""
        other = "before" if side == "after" else "after"
        alone, folders = [], set()
        for number, (entry, data) in enumerate(self.pieces(side)):
            temporary = f".porter-{self.name}-{number}.tmp"
            try:
                real = resolve(self.root, entry.path)
                if not strict:
                    with suppress(FileNotFoundError):
                        os.unlink(os.path.join(os.path.dirname(real), temporary))
                    if _digest_of(real) == getattr(entry, side):
                        folders.add(os.path.dirname(real))
                        continue
                before = getattr(entry, other)
                folders.add(write(self.root, entry.path, data, before=before, temporary=temporary, durable=False))
            except FilesError as error:
                if strict or error.key not in ("changed", "vanished", "outside", "special"):
                    raise
                alone.append(entry.path)
        for folder in sorted(folders):
            flush_folder(folder)
        return alone

    def finish(self) -> None:
        written = last_written(self.root)
        for entry in self.entries:
            if entry.record:
                written[entry.path] = entry.after
            else:
                written.pop(entry.path, None)
        create(os.path.join(self.home, "written.json"), json.dumps(dict(sorted(written.items())), indent=1).encode())
        if self.undoes:
            undone = Run(self.root, self.home, self.undoes)
            if undone.state() == "finished":
                undone.to("undone")
            self.remove()
        else:
            self.to("finished")
        with suppress(OSError):
            for run in runs(self.root, self.home)[:-KEEP]:
                run.remove()

    def remove(self) -> None:
        """First out of sight in one step, so that half a folder is never taken for an interrupted run."""
        trash = os.path.join(self.home, "runs", f"trash-{self.name}")
        os.rename(self.file(), trash)
        shutil.rmtree(trash, ignore_errors=True)


def make_home(home: str) -> None:
    """`.porter` with a `.gitignore` that hides it. Links that came with somebody's repository are not followed."""
    try:
        for folder in (home, os.path.join(home, "runs")):
            with suppress(FileExistsError):
                os.mkdir(folder)
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                raise FilesError("foreign-journal", path=HOME)
        ignore = os.path.join(home, ".gitignore")
        if not os.path.lexists(ignore):
            create(ignore, b"*\n")
    except OSError as error:
        raise FilesError("journal", path=HOME, error=reason(error)) from None


def names(home: str) -> list[str]:
    folder = os.path.join(home, "runs")
    try:
        if all(stat.S_ISDIR(os.lstat(place).st_mode) for place in (home, folder)):
            return sorted(os.listdir(folder))
    except OSError:
        pass
    return []


def runs(root: str, home: str) -> list[Run]:
    """All runs, the oldest first."""
    found = [Run(root, home, name) for name in names(home) if re.fullmatch(r"\d{4,}", name)]
    real = (run for run in found if stat.S_ISDIR(os.lstat(run.file()).st_mode))
    return sorted(real, key=lambda run: int(run.name))


def sweep(home: str) -> None:
    for name in names(home):
        if name.startswith("trash-"):
            shutil.rmtree(os.path.join(home, "runs", name), ignore_errors=True)


def last_written(root: str | os.PathLike) -> dict[str, str]:
    """Digests of the bytes that porter wrote last and did not undo, by path: such a file is as porter left it."""
    try:
        with open(os.path.join(root, HOME, "written.json"), encoding="utf-8") as stream:
            found = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _digest_of(real: str) -> str:
    with open(real, "rb") as stream:
        return digest(stream.read())
