"""`--out DIR`: a ported copy of a tree that can stand in for the original."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from porter.files.discover import ENVIRONMENTS, MADE, VCS, Walk
from porter.files.errors import FilesError, reason
from porter.files.write import create

MARKER = ".porter-copy.json"
FORMAT = 1


def write_copy(
    root: str | os.PathLike, out: str | os.PathLike, files: Mapping[str, bytes], exclude: Iterable[str] = ()
) -> int:
    """Copy the tree at `root` to `out` with `files` (path -> ported bytes) in place of the originals; returns how many
    files and links the copy has.

    Not copied: version control, caches, virtual environments and what .gitignore names, unless it is in `files`.
    `exclude` only says whether an `out` inside of `root` would be left out of the next run. A directory that is not
    empty is refused unless porter made it; then files that somebody changed or added since are never overwritten, and
    those that the tree no longer has are removed. Raises FilesError (out-not-empty, out-inside, out-edited,
    out-foreign, unreadable, unwritable).
    """
    walk = Walk(root, exclude)
    target = os.path.realpath(out)
    inside = walk.relative(target)
    shown = os.fspath(out)
    if inside == "" or walk.root.startswith(target.rstrip(os.sep) + os.sep):
        raise FilesError("out-inside", path=shown)
    if inside is not None and not walk.is_left_out(inside, True):
        raise FilesError("out-inside", path=shown)
    plan = dict(_tree(Walk(root, names=VCS | MADE), inside))
    for path in files:
        for depth in range(1, path.count("/") + 1):
            plan.setdefault("/".join(path.split("/")[:depth]), "folder")
        plan[path] = "file"
    known = _known(target, shown)
    record: dict[str, list | str] = {}
    paths = sorted(plan)  # a folder comes before what is in it
    for path in paths:
        _check(target, path, plan[path], known)
    try:
        os.makedirs(target, exist_ok=True)
        # what a run that dies half way leaves is known to be porter's
        _mark(target, {**(known or {}), **dict.fromkeys((p for p in paths if plan[p] != "folder"), "?")})
        for path in paths:
            here, there = walk.absolute(path), _place(target, path)
            if plan[path] == "folder":
                os.makedirs(there, exist_ok=True)
                continue
            with suppress(FileNotFoundError):
                os.unlink(there)
            if plan[path] == "link":
                os.symlink(os.readlink(here), there, target_is_directory=os.path.isdir(here))
            elif path in files:
                with open(there, "xb") as stream:
                    stream.write(files[path])
                shutil.copymode(here, there)
            else:
                shutil.copy2(here, there, follow_symlinks=False)
            record[path] = _state(there)
        for path in paths[::-1]:
            if plan[path] == "folder":  # last: a read-only folder could not be filled
                shutil.copymode(walk.absolute(path), _place(target, path))
        _remove(target, known or {}, record)
        _mark(target, record)
    except OSError as error:
        name = walk.relative(os.fspath(error.filename or "")) or shown
        raise FilesError("unwritable", path=name, error=reason(error)) from None
    return len(record)


def _tree(walk: Walk, skip: str | None) -> Iterator[tuple[str, str]]:
    stack = [""]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(walk.absolute(folder)) as scan:
                entries = {entry.name: entry for entry in scan}
        except OSError as error:
            raise FilesError("unreadable", path=folder or ".", error=reason(error)) from None
        if folder:
            if any(name in entries for name in ENVIRONMENTS):
                continue
            yield folder, "folder"
        chain = walk.chain(folder, entries)
        for name, entry in entries.items():
            path = f"{folder}/{name}" if folder else name
            directory = entry.is_dir(follow_symlinks=False)
            if path in (skip, MARKER) or name in VCS or walk.ignored(chain, path, name, directory):
                continue
            if directory:
                stack.append(path)
            elif entry.is_symlink():
                yield path, "link"
            elif entry.is_file():
                yield path, "file"


def _known(target: str, shown: str) -> dict | None:
    """What porter wrote there; None for a directory that is empty or not there yet."""
    try:
        if not os.listdir(target):
            return None
        with open(os.path.join(target, MARKER), encoding="utf-8") as stream:
            marker = json.load(stream)
        if marker["format"] == FORMAT and isinstance(marker["files"], dict):
            return marker["files"]
    except FileNotFoundError:
        if not os.path.lexists(target):
            return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise FilesError("out-not-empty", path=shown)


def _check(target: str, path: str, kind: str, known: dict | None) -> None:
    there = _place(target, path)
    state = _state(there)
    if state is None or (kind == "folder" and state == "folder"):
        return
    if known is None or path not in known or state == "folder":
        raise FilesError("out-foreign", path=path)
    if known[path] not in ("?", state):
        raise FilesError("out-edited", path=path)


def _remove(target: str, known: dict, record: dict) -> None:
    for path in sorted(known.keys() - record.keys(), reverse=True):
        if path.startswith("/") or ".." in path.split("/"):
            continue
        there = _place(target, path)
        if known[path] == _state(there):
            with suppress(OSError):
                os.unlink(there)
                os.removedirs(os.path.dirname(there))


def _mark(target: str, record: dict) -> None:
    text = json.dumps({"format": FORMAT, "files": dict(sorted(record.items()))}, indent=1)
    create(os.path.join(target, MARKER), text.encode())


def _state(there: str) -> list | str | None:
    try:
        status = os.lstat(there)
        if stat.S_ISDIR(status.st_mode):
            return "folder"
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(there)
        return [status.st_size, status.st_mtime_ns]
    except (FileNotFoundError, NotADirectoryError):
        return None


def _place(target: str, path: str) -> str:
    return os.path.join(target, *path.split("/"))
