"""What a result depends on, in one key: while it is the same, what is whole is not done again."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from porter import __version__
from porter.files.discover import VCS
from porter.files.documents import Json
from porter.files.ignore import git_directory
from porter.resources import rules_dir, templates_dir


@lru_cache(maxsize=1)
def of_porter() -> str:
    """The version, and a digest of the code, the rules and the templates: two checkouts of one version differ, too."""
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for top in (Path(__file__).resolve().parent.parent, rules_dir(), templates_dir()):
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(set(folders) - {"__pycache__", "_data"})
            for name in sorted(names):
                file = Path(folder, name)
                digest.update(f"{file.relative_to(top).as_posix()}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return f"{__version__}+{digest.hexdigest()[:16]}"


def key(porter: str, options: Json, subject: object) -> str:
    raw = json.dumps([porter, options, subject], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(raw.encode()).hexdigest()


def of_folder(folder: str) -> str:
    """Of the names, sizes and times of all files: a file with other bytes has another time, as for make."""
    digest = hashlib.sha256()
    for row in _rows(os.path.realpath(folder)):
        digest.update(f"{row}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def of_file(file: str) -> str:
    try:
        status = os.stat(file)
    except OSError as error:
        return str(error.errno)
    return f"{status.st_size} {status.st_mtime_ns}"


def of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def of_bytes(file: str) -> str:
    digest = hashlib.sha256()
    with open(file, "rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _read_of_git(folder: str) -> Iterator[str]:
    """The files that say what is tracked and what is not; a linked worktree has its own in the repository that it is of."""
    for place, file in ((git_directory(folder, common=False), "index"), (git_directory(folder), "info/exclude")):
        yield os.path.join(place or folder, file)


def _rows(top: str) -> Iterator[str]:
    stack = [top]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield f"{folder[len(top) :]!r} {error.errno}"
            continue
        for entry in found:
            name = entry.path[len(top) :]
            if entry.name in VCS:
                yield from (f"{name!r} {of_file(file)}" for file in _read_of_git(folder) if entry.name == ".git")
            elif entry.is_dir(follow_symlinks=False):
                stack.append(entry.path)
                yield repr(name)
            else:
                status = entry.stat(follow_symlinks=False)
                yield f"{name!r} {status.st_mode} {status.st_size} {status.st_mtime_ns}"
