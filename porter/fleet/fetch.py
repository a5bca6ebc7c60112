"""The one step that may use the network: a git repository, an archive, or a package comes into a folder.

Nothing of what comes is run: git is asked without hooks, templates, filters and submodules, and a package is taken from
the index as the file that it is, never by pip, which would run its setup.py to learn its name.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from porter.errors import UserError
from porter.files.git import SAFE
from porter.fleet.archive import unpack
from porter.fleet.download import LARGEST, download
from porter.fleet.entries import ARCHIVE, FOLDER, GIT, without_login
from porter.fleet.identity import of_bytes
from porter.regex import lazy

PROTOCOLS = "file:git:http:https:ssh"  # no ext::, which is a program
_COMMIT = lazy(r"[0-9a-f]{40}|[0-9a-f]{64}")
_WAITED = lazy(r" after \d+ ms\b")
_LENT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
         "GIT_TEMPLATE_DIR", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_EXTERNAL_DIFF")  # fmt: skip
_OWN = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": PROTOCOLS,
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "0"}
_MAIN = ("", "HEAD")
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false",
          "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false")  # fmt: skip


def fetch(kind: str, where: str, revision: str, name: str, into: str) -> tuple[str, str]:
    """The folder to analyse, and what it is of where only fetching is sure of that: a commit, the digest of an archive.

    `name`: of the folder, where what is fetched has none. Raises UserError.
    """
    if kind == FOLDER:
        return where, ""
    if kind == GIT:
        folder = _clone(where, revision, os.path.join(into, name))
        return folder, _git("rev-parse", "HEAD", folder=folder, shown=where).strip()
    if kind == ARCHIVE and os.path.isabs(where):
        return unpack(where, into, name), ""
    with tempfile.TemporaryDirectory(dir=into) as folder:
        if kind == ARCHIVE:
            file = download(where, folder)
            return unpack(file, into, name), of_bytes(file)
        from porter.fleet.package import fetch_package

        return unpack(fetch_package(where, folder), into, name), ""


def commit_there(where: str, revision: str) -> str | None:
    """Which commit a branch or a tag is at, asked without fetching it; None where only fetching can tell."""
    if _COMMIT.fullmatch(revision):
        return revision
    names = [f"refs/tags/{revision}^{{}}", f"refs/tags/{revision}", f"refs/heads/{revision}"]
    wanted = ["HEAD"] if revision in _MAIN else names
    answer = _git("ls-remote", "-q", "--end-of-options", where, *wanted, shown=where)
    pairs = (line.partition("\t") for line in answer.splitlines())
    found = {name: commit for commit, _, name in pairs}
    return next((found[name] for name in wanted if name in found), None)


def _clone(where: str, revision: str, folder: str) -> str:
    _git("init", "-q", "--template=", "--end-of-options", folder, shown=where)
    take = ("fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance")
    try:
        _git(*take, "--depth=1", "--end-of-options", where, revision or "HEAD", folder=folder, shown=where)
        names = ["FETCH_HEAD"]
    except UserError:
        if revision in _MAIN:
            raise
        # a commit that the server does not hand out by itself, or the head of its name
        everything = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
        _git(*take, "--end-of-options", where, *everything, folder=folder, shown=where)
        names = [f"refs/tags/{revision}", f"refs/remotes/origin/{revision}", revision]
    commit = next(filter(None, (_commit(name, where, folder) for name in names)), "")
    if not commit:
        raise UserError(f"there is no revision {revision!r}", f"没有版本 {revision!r}")
    _git("checkout", "-q", "--detach", "--no-recurse-submodules", commit, folder=folder, shown=where, own=_NO_SETTINGS)
    return folder


def _commit(name: str, where: str, folder: str) -> str:
    try:
        asked = ("rev-parse", "-q", "--verify", "--end-of-options", f"{name}^{{commit}}")
        return _git(*asked, folder=folder, shown=where).strip()
    except UserError:
        return ""


def _git(*words: str, shown: str, folder: str = "", own: dict[str, str] | None = None) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in _LENT} | _OWN | (own or {})
    place = ("-C", folder) if folder else ()
    command: Sequence[str] = ("git", *SAFE, *_QUIET, *place, *words)
    try:
        with _largest_file(LARGEST):
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        raise UserError("git is not installed", "没有安装 git") from None
    if done.returncode:
        lines = [row for row in done.stderr.decode("utf-8", "replace").splitlines() if row.strip()]
        known = [row for row in lines if row.startswith(("fatal:", "error:"))] or lines or [f"exit {done.returncode}"]
        why = known[0].replace(shown, "it").replace(folder or shown, "its copy")
        why = without_login(_WAITED.sub("", why))  # the same words each time
        raise UserError(f"git cannot fetch it: {why}", f"git 无法获取：{why}")
    return done.stdout.decode("utf-8", "replace")


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    """What git writes is limited; what this process writes is bounded by itself."""
    if sys.platform == "win32":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
