"""Where the data lives: inside the package once installed, beside it in a checkout."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@functools.cache
def _find(packaged: str, checkout: str) -> Path:
    inside = _PACKAGE / "_data" / packaged
    return inside if inside.is_dir() else _PACKAGE.parent / checkout


def rules_dir() -> Path:
    return _find("rules", "rules")


def templates_dir() -> Path:
    return _find("templates", "reports/templates")


def cache_dir() -> Path:
    """Where what can be rebuilt is kept. PORTER_CACHE_DIR overrides; the folder may not exist, or not be writable."""
    return _of_the_user("PORTER_CACHE_DIR", "XDG_CACHE_HOME", ".cache")


def state_dir() -> Path:
    """Where what must not get lost is kept. PORTER_STATE_DIR overrides; the folder may not exist, or not be writable."""
    return _of_the_user("PORTER_STATE_DIR", "XDG_STATE_HOME", os.path.join(".local", "state"))


def _of_the_user(override: str, variable: str, below: str) -> Path:
    if chosen := os.environ.get(override):
        return Path(chosen)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "porter"
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        # a user without a home: never a folder that depends on where porter was started, nor one that others can write
        base = os.path.join(home, below) if os.path.isabs(home) else os.devnull
    return Path(base) / "porter"


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether a file or a folder is the user's own and nobody else can write to it; a link to it is no stranger's.

    What others can write to may hold edits, rules or programs of theirs: it is not read, and nothing is put there.
    """
    if not hasattr(os, "geteuid"):  # Windows: the profile is the user's by its access list
        return os.path.exists(path)
    user = os.geteuid()
    try:
        link, target = os.lstat(path), os.stat(path)
    except (OSError, ValueError):
        return False
    return link.st_uid in (user, 0) and target.st_uid == user and not target.st_mode & 0o022


def make_ours(folder: str | os.PathLike[str]) -> bool:
    """The same of a folder that is made, closed to all others, where there is none."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return False
    return is_ours(folder)
