"""Which dumps a folder holds: of which step, and of which rank."""

from __future__ import annotations

import os
from collections.abc import Iterator

from porter.dumps import errors
from porter.files.errors import FilesError
from porter.regex import lazy

FILE = "dump.json"
_DEEP, _FOLDERS = 5, 20_000  # how far and how many folders are looked at
_STEP, _RANK = lazy(r"step(\d{1,9})"), lazy(r"rank(\d{0,9})")
Steps = dict[int, dict[int, str]]  # step -> rank -> folder


def find(path: str) -> Steps:
    """Raises UserError, FilesError. What is given without a number of its step or rank has 0."""
    if not os.path.lexists(path):
        raise FilesError("missing", path=path)
    if not os.path.isdir(path):
        path = os.path.dirname(path) if os.path.basename(path) == FILE else path
        if not os.path.isdir(path or "."):
            raise errors.nothing(path)
    found: Steps = {}
    for folder in _folders(path or "."):
        step, rank = _numbers(folder)
        ranks = found.setdefault(step, {})
        if rank in ranks:
            raise errors.twice(path, os.path.relpath(ranks[rank], path), os.path.relpath(folder, path))
        ranks[rank] = folder
    if not found:
        raise errors.nothing(path)
    return {step: dict(sorted(ranks.items())) for step, ranks in sorted(found.items())}


def _numbers(folder: str) -> tuple[int, int]:
    parts = os.path.abspath(folder).split(os.sep)
    step = next((int(match[1]) for part in reversed(parts) if (match := _STEP.fullmatch(part))), 0)
    match = _RANK.fullmatch(parts[-1])
    return step, int(match[1] or 0) if match else 0


def _folders(root: str) -> Iterator[str]:
    """That have a dump. Links are not followed. Raises UserError: of some steps alone, the first difference would be another one."""
    waiting, seen = [(root, 0)], 0
    while waiting and seen < _FOLDERS:
        folder, depth = waiting.pop(0)
        seen += 1
        try:
            with os.scandir(folder) as entries:
                rows = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:
            continue
        if any(name == FILE for name, is_folder in rows if not is_folder):
            yield folder
        elif depth < _DEEP:
            waiting += [(os.path.join(folder, name), depth + 1) for name, is_folder in rows if is_folder]
    if waiting:
        raise errors.many(root, _FOLDERS)


def common(one: Steps, other: Steps, names: tuple[str, str]) -> list[tuple[int, int, str, str]]:
    """(step, rank, folder, folder), the first step first. Where each side has one step or one rank, they are taken for the same."""
    if len(one) == len(other) == 1:
        other = {next(iter(one)): next(iter(other.values()))}
    steps = [step for step in one if step in other]
    if not steps:
        raise errors.apart(*names, "step")
    rows = []
    for step in steps:
        mine, theirs = one[step], other[step]
        if len(mine) == len(theirs) == 1:
            theirs = {next(iter(mine)): next(iter(theirs.values()))}
        rows += [(step, rank, mine[rank], theirs[rank]) for rank in mine if rank in theirs]
    if not rows:
        raise errors.apart(*names, "rank")
    return rows
