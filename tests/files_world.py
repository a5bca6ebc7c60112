"""What the tests of porter/files share: trees, git, and another user to whom permissions mean something."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import porter

CHECKOUT = Path(__file__).parents[1]
TESTED = (
    Path(porter.__file__).resolve().parents[1]
)  # also where a copy of the checkout, with a mistake in it, is tested
POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX file system semantics")


def make(root: Path, *names: str, text: str = "import torch\n") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def git(root: Path, *arguments: str, check: bool = True, **options) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, "-C", str(root), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, check=check, **options)


def python(code: str, *arguments: object, **options) -> subprocess.CompletedProcess:
    start = f"import os, sys\nsys.path.insert(0, {str(TESTED)!r})\n"
    command = [sys.executable, "-c", start + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def forked(code: str, *arguments: object, cwd: Path) -> int:
    """How `code` ends in a child of this process: hundreds of interpreters would take longer to start than to be killed."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        os.chdir(cwd)
        sys.argv = ["-c", *map(str, arguments)]
        exec(code, {"os": os, "sys": sys})
        status = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def interrupted(root: Path, contents: dict[str, bytes], replaced: int = 0, kept: bool = True) -> None:
    """A run that ends at once, as kill -9 ends it, when some of its files are replaced."""
    code = """
import json
from porter.files.journal import Transaction
from porter.files import runs
real, calls = runs.write, []
def dying(*arguments, **options):
    calls.append(1)
    if len(calls) > int(sys.argv[2]):
        os.kill(os.getpid(), 9)
    return real(*arguments, **options)
runs.write = dying
with Transaction(".", sys.argv[3] == "kept") as run:
    for path, data in json.loads(sys.argv[1]).items():
        run.add(path, data.encode())
    run.commit()
"""
    arguments = json.dumps({path: data.decode() for path, data in contents.items()}), replaced
    run = python(code, *arguments, "kept" if kept else "unkept", cwd=root)
    assert run.returncode == -9, run.stderr


def snapshot(root: Path) -> dict:
    """Bytes, times, kinds and numbers of everything below `root`: it differs after the least write."""
    found = {}
    for path in [root, *sorted(root.rglob("*"))] if root.exists() else ():
        s = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(s.st_mode) else path.is_symlink() and os.readlink(path)
        found[path] = (s.st_ino, s.st_mode, s.st_nlink, s.st_size, s.st_mtime_ns, s.st_ctime_ns, data)
    return found


@contextmanager
def common_folder() -> Iterator[Path]:
    """A folder that `as_user` may enter: pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            for place in [folder, *(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink())]:
                place.chmod(0o755)


def as_user(folder: Path, code: str) -> str:
    """What `code` prints when it runs in `folder`, which is given to the user it runs as."""
    state = tempfile.mkdtemp()
    if os.geteuid() == 0:
        for place in [folder, *folder.rglob("*")]:
            os.chown(place, 65534, 65534, follow_symlinks=False)
        os.chown(state, 65534, 65534)
    start = (
        "import porter.files.copy, porter.files.git, porter.files.journal, porter.files.lock, fcntl\n"
        f"os.chdir({str(folder)!r})\n"
        "if os.geteuid() == 0:\n    os.setgroups([])\n    os.setgid(65534)\n    os.setuid(65534)\n"
    )
    try:
        run = python(start + code, env=os.environ | {"PORTER_STATE_DIR": state})
    finally:
        shutil.rmtree(state)
    assert run.returncode == 0, run.stderr
    return run.stdout
