"""porter as a user runs it, without the price of a new interpreter for every call."""

from __future__ import annotations

import functools
import io
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import porter

ROOT = Path(__file__).resolve().parent.parent
TESTED = (
    Path(porter.__file__).resolve().parents[1]
)  # also where a copy of the checkout, with a mistake in it, is tested


def unmeasured() -> dict[str, str]:
    """The environment of a process that `make coverage` does not watch: that would import modules of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


@dataclass
class Answer:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8")


class Stream(io.TextIOWrapper):
    def __init__(self, terminal: bool = False):
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Porter:
    """porter("analyze", ".") in `folder`, with a cache of its own."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path):
        self.patch, self.folder = patch, folder
        patch.chdir(folder)
        patch.setenv("PORTER_CACHE_DIR", str(folder.parent / "cache"))
        patch.delenv("PORTER_DEBUG", raising=False)
        patch.delenv("NO_COLOR", raising=False)

    def __call__(self, *args: str, stdin: bytes = b"", cwd: Path | None = None, terminal: bool = False) -> Answer:
        from porter.__main__ import main

        out, err = Stream(terminal), Stream()
        with self.patch.context() as patch:
            patch.chdir(cwd or self.folder)
            patch.setattr(sys, "argv", ["porter", *map(str, args)])
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code or 0
        return Answer(code, out.buffer.getvalue(), err.buffer.getvalue().decode("utf-8"))


@functools.cache
def _compiled() -> dict[str, bytes]:
    """What a first run keeps of the rules: to compile them takes a third of a run."""
    with tempfile.TemporaryDirectory() as name:
        variables = {**os.environ, "PYTHONPATH": str(TESTED), "PORTER_CACHE_DIR": name}
        write(Path(name), {"a.py": "import torch\n"})
        subprocess.run([sys.executable, "-m", "porter", "analyze", "-q", "."], cwd=name, env=variables, check=True)
        return {file.name: file.read_bytes() for file in Path(name).glob("rules-*.bin")}


def with_rules(cache: Path) -> Path:
    """A new cache for processes, in which the rules are compiled."""
    if not cache.exists():
        cache.mkdir(mode=0o700)
        for name, data in _compiled().items():
            with open(cache / name, "wb", opener=functools.partial(os.open, mode=0o600)) as file:
                file.write(data)
    return cache


def process(*args: str, cwd: Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess:
    """The same in a process of its own."""
    cache = with_rules(cwd.parent / "cache")
    variables = {**os.environ, "PYTHONPATH": str(TESTED), "PORTER_CACHE_DIR": str(cache), **environment}
    variables.pop("PORTER_DEBUG", None)
    return subprocess.run(
        [sys.executable, "-m", "porter", *args], cwd=cwd, input=stdin, capture_output=True, env=variables
    )


def tree(folder: Path, **files: str | bytes) -> Path:
    """`a__b` is a/b, and a name without a suffix is a Python module."""
    return write(folder, {name.replace("__", "/") + ".py": text for name, text in files.items()})


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def git(folder: Path, *args: str) -> str:
    quiet = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *quiet, *args], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
