"""A run that is stopped while it compiles leaves no lock behind, and one that was left is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from porter.verify import locks

pytestmark = pytest.mark.slow

HOLDS = "import os, sys, time; os.open(sys.argv[1], os.O_CREAT | os.O_EXCL); print(1, flush=True); time.sleep(60)"


@pytest.mark.parametrize("asked", [False, True])
def test_a_lock_belongs_to_the_run_that_holds_it_or_to_nobody(tmp_path: Path, monkeypatch, needs_linux, asked) -> None:
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "torch_extensions" / "py311_cpu"
    if asked:
        monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(folder))
    (folder / "adam").mkdir(parents=True)
    lock = folder / "adam" / "lock"
    assert (locks.held_by("run-7"), locks.left_behind()) == ([], None)
    monkeypatch.setenv("RECORD", "/tmp/run-7/x")
    command = [sys.executable, "-c", HOLDS, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == b"1\n"
            assert (locks.held_by("/tmp/run-7"), locks.held_by("/tmp/run-8"), locks.left_behind()) == ([lock], [], None)
        finally:
            holder.kill()
    assert (locks.held_by("/tmp/run-7"), locks.left_behind()) == ([], lock)


def test_what_is_closed_meanwhile_hides_no_lock(tmp_path: Path, monkeypatch, needs_linux) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    (lock := tmp_path / "adam" / "lock").parent.mkdir()
    readlink = os.readlink

    def closed(path: str) -> str:
        if path.endswith(("/fd/0", "/fd/1", "/fd/2")):
            raise FileNotFoundError(path)
        return readlink(path)

    monkeypatch.setattr(os, "readlink", closed)
    with lock.open("w"):
        assert (locks.held_by(""), locks.left_behind()) == ([lock], None)
    assert locks.left_behind() == lock


def test_where_nobody_can_be_asked_no_lock_is_left_behind(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    (tmp_path / "adam").mkdir()
    (tmp_path / "adam" / "lock").touch()
    monkeypatch.setattr(locks, "_open", lambda run="": set())
    assert locks.left_behind() is None
