"""What a path holds: one profile, or one of each rank."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from porter.errors import UserError
from porter.files.errors import FilesError
from porter.profiles import errors
from porter.profiles.ascend import OUTPUT, is_output, read_output
from porter.profiles.metadata import add_metadata, rank_in
from porter.profiles.model import Origin, Profile
from porter.profiles.trace import Trace
from porter.regex import lazy

_DEEP, _FOLDERS = 4, 20_000  # how far and how many folders are looked at
_TRACES = (".json", ".json.gz")
_TIME = lazy(r"[._]\d{13,20}(?=[._])")  # of the export, in a name


class Run(NamedTuple):
    """All profiles of one training run, by rank."""

    path: str
    profiles: tuple[Profile, ...]
    left_out: tuple[str, ...]  # of processes that were profiled more than once: all but one


def read_run(path: str) -> Run:
    """Raises UserError and FilesError: what is missing, damaged, or no profile."""
    if not os.path.lexists(path):
        raise FilesError("missing", path=path)
    if not os.path.isdir(path):
        return Run(path, (_of_file(path, os.path.basename(path)),), ())
    if is_output(path):
        return Run(path, (_of_output(path, os.path.basename(os.path.abspath(path))),), ())
    outputs = sorted(_outputs(path))
    if outputs:
        profiles = [_of_output(folder, _short(folder, path)) for folder in outputs]
    else:
        profiles = list(_of_traces(path))
        if not profiles:
            raise _nothing(path)
    kept, left_out = _one_of_each_rank(profiles)
    return Run(path, kept, left_out)


def _of_file(file: str, name: str) -> Profile:
    if file.endswith(".db"):
        raise errors.database(file)
    if file.endswith(".csv"):
        raise UserError(
            f"{file}: one table of a profile; give the folder that it is in",
            f"{file}：只是性能数据中的一张表；请给出其所在目录",
        )
    profile = Profile(name, origin=Origin(rank_in(os.path.basename(file))))
    Trace(profile).read(file)
    profile.origin.read.append(os.path.basename(file))
    return profile


def _of_output(folder: str, name: str) -> Profile:
    profile = read_output(folder, name)
    parent = os.path.dirname(os.path.abspath(folder))
    add_metadata(profile, parent, _names(parent))
    return profile


def _short(path: str, root: str) -> str:
    """What tells it from the others: the folder of a rank, not what is in each of them."""
    name = os.path.relpath(path, root).replace(os.sep, "/")
    return name.removesuffix("/" + OUTPUT) or name


def _outputs(root: str) -> Iterator[str]:
    for folder, names in _folders(root):
        if os.path.basename(folder) == OUTPUT and is_output(folder):
            yield folder
        elif os.path.basename(folder) == OUTPUT and any(name.endswith(".db") for name in names):
            raise errors.database(folder)


def _of_traces(root: str) -> Iterator[Profile]:
    """Those that tensorboard_trace_handler names, else whatever JSON is a trace."""
    files = [os.path.join(folder, name) for folder, names in _folders(root) for name in names if name.endswith(_TRACES)]
    named = [file for file in files if ".pt.trace.json" in file]
    for file in sorted(named or files):
        try:
            yield _of_file(file, _short(file, root))
        except errors.NoTrace:
            continue


def _nothing(path: str) -> UserError:
    for folder, _ in _folders(path):
        if re.match(r"PROF_\d", os.path.basename(folder)) or folder.endswith(("_ascend_pt", "_ascend_ms")):
            return errors.unparsed(path)
    return errors.nothing(path)


def _folders(root: str) -> Iterator[tuple[str, list[str]]]:
    """Folders below, the nearest first, and the names of their files. Links are not followed."""
    waiting, seen = [(root, 0)], 0
    while waiting and seen < _FOLDERS:
        folder, depth = waiting.pop(0)
        seen += 1
        yield folder, _names(folder)
        if depth < _DEEP:
            try:
                with os.scandir(folder) as entries:
                    below = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
            except OSError:
                continue
            waiting += [(path, depth + 1) for path in below]


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_file())
    except OSError:
        return []


def _one_of_each_rank(profiles: list[Profile]) -> tuple[tuple[Profile, ...], tuple[str, ...]]:
    """Of a process that was profiled again and again, the profile with the most steps, and of those the latest."""
    best: dict[object, Profile] = {}
    for profile in sorted(profiles, key=lambda one: (one.steps, one.name)):
        best[profile.origin.rank if profile.origin.rank is not None else _TIME.sub("", profile.name)] = profile
    kept = sorted(best.values(), key=lambda one: (one.origin.rank is None, one.origin.rank or 0, one.name))
    names = {profile.name for profile in kept}
    return tuple(kept), tuple(profile.name for profile in profiles if profile.name not in names)
