"""Which commit a checkout stands at, read from git's own files without running git."""

from __future__ import annotations

import os

from porter.files.ignore import git_directory
from porter.files.read import beginning
from porter.regex import lazy

_ID = lazy(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCH = lazy(r"refs(?:/(?!\.)[^/\\\0]+)+")  # no part of it leads out of git's folder
_LONGEST = 4096  # bytes of a file that names one commit
_PACKED = 50_000_000  # of the file that names many
_DEPTH = 5  # names that name another name, as far as git itself follows


def commit_of(folder: str | os.PathLike[str]) -> str:
    """The whole id of HEAD where `folder` is the top of a checkout; empty where it is none, has no commit, or keeps its
    names in a form that is not plain text (reftable)."""
    own, common = git_directory(os.fspath(folder), common=False), git_directory(os.fspath(folder))
    if own is None or common is None:
        return ""
    name = "HEAD"
    for _ in range(_DEPTH):
        text = _text(os.path.join(own, name)) or _text(os.path.join(common, name))
        if _ID.fullmatch(text):
            return text
        word, _, branch = text.partition("ref:")
        if not text:
            return _packed(common, name)
        name = branch.strip()
        if word or not _BRANCH.fullmatch(name):
            return ""
    return ""


def _text(file: str) -> str:
    data = beginning(file, _LONGEST) or b""
    return os.fsdecode(data).strip()


def _packed(common: str, name: str) -> str:
    data = beginning(os.path.join(common, "packed-refs"), _PACKED) or b""
    wanted = os.fsencode(name)
    lines = data.split(b"\n")
    for line in lines[:-1]:  # the last is empty, or cut: it may look like another name
        commit, _, other = line.partition(b" ")
        if other.rstrip() == wanted and _ID.fullmatch(commit.decode("latin-1")):
            return commit.decode("latin-1")
    return ""
