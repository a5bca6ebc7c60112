"""Which files git could not give back. No program that a repository's settings name is ever run.

git itself is asked for one thing, the index as it stands (`ls-files -s`): no filter, textconv, external diff, pager,
hook or file system monitor takes part in that. The comparison with the bytes on disk is made here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable

from porter.files.errors import FilesError
from porter.files.read import LIMIT, beginning

SAFE = (
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "safe.bareRepository=explicit",
    "--no-pager",
)  # fmt: skip
# what git needs to start and to find its user's settings (safe.directory); no GIT_* of the caller
KEPT = frozenset(
    ["PATH", "HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH"]
    + ["SYSTEMROOT", "TEMP", "TMP", "TMPDIR"]
)
OWN = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone with a hostile remote fetches nothing
    "GIT_PAGER": "",
    "LC_ALL": "C",
}
SECONDS = 60


def dirty(root: str | os.PathLike[str], paths: Iterable[str]) -> list[str]:
    """Those of `paths` (POSIX, below `root`) whose bytes are not in the git index: changed, in conflict, or unknown to
    git. Staged changes are fine. A file with CRLF that the index has with LF (autocrlf) is not dirty. Outside of a
    repository, and without git on this machine, none is. Raises FilesError("git") where git refuses to answer.
    """
    top = os.path.realpath(root)
    program = _find_git(top)
    if program is None:
        return []
    real = {path: os.path.realpath(os.path.join(top, *path.split("/"))) for path in paths}
    owners: dict[str, str | None] = {}
    indexes: dict[str, dict[str, str] | None] = {}
    differing = []
    for path, file in real.items():
        repository = _repository(os.path.dirname(file), owners)
        if repository is None:
            continue
        if repository not in indexes:
            indexes[repository] = _read_index(program, repository)
        index = indexes[repository]
        if index is None:
            continue
        oid = index.get(os.path.relpath(file, repository).replace(os.sep, "/"))
        if oid is None or not _same(file, oid):
            differing.append(path)
    return sorted(differing)


def _find_git(root: str) -> str | None:
    """git from PATH, never one that lies in the current directory or in the tree that is looked at."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(folder) and not (os.path.realpath(folder) + os.sep).startswith(root.rstrip(os.sep) + os.sep):
            for name in ("git.exe",) if os.name == "nt" else ("git",):
                file = os.path.join(folder, name)
                if os.path.isfile(file) and os.access(file, os.X_OK):
                    return file
    return None


def _read_index(program: str, repository: str) -> dict[str, str] | None:
    """path -> object id of the regular files in the index; a file in conflict has none. None: this is no repository,
    or one whose data lies elsewhere and is gone."""
    environment = {k: v for k, v in os.environ.items() if k.upper() in KEPT} | OWN
    command = [program, *SAFE, "-C", repository, "ls-files", "-s", "-z"]
    try:
        answer = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FilesError("git", root=os.path.basename(repository), error=type(error).__name__) from None
    if answer.returncode:
        lines = answer.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit {answer.returncode}"]
        if "not a git repository" in lines[0]:
            return None
        raise FilesError("git", root=os.path.basename(repository), error=lines[0])
    index = {}
    for line in answer.stdout.split(b"\0"):
        status, _, name = line.partition(b"\t")
        mode, oid, stage = (status.split(b" ") + [b"", b""])[:3]
        if mode.startswith(b"100") and stage == b"0":
            index[os.fsdecode(name)] = oid.decode()
    return index


def _repository(folder: str, owners: dict[str, str | None]) -> str | None:
    """The nearest folder at or above `folder` that holds a `.git`."""
    passed = []
    while folder not in owners:
        passed.append(folder)
        above = os.path.dirname(folder)
        if os.path.lexists(os.path.join(folder, ".git")):
            owners[folder] = folder
        elif above == folder:
            owners[folder] = None
        else:
            folder = above
    owners.update(dict.fromkeys(passed, owners[folder]))
    return owners[folder]


def _same(file: str, oid: str) -> bool:
    data = beginning(file, LIMIT + 1)
    if data is None or len(data) > LIMIT:
        return False
    return _blob(data, oid) == oid or (b"\r\n" in data and _blob(data.replace(b"\r\n", b"\n"), oid) == oid)


def _blob(data: bytes, like: str) -> str:
    """git's name for `data`, in the hash that the id `like` is written in."""
    digest = hashlib.sha1(usedforsecurity=False) if len(like) == 40 else hashlib.sha256()
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()
