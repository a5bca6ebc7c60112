"""One porter at a time, also where the system has no locks of its own: then the number in the file must do."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest
from files_world import POSIX

from porter.files.errors import FilesError
from porter.files.lock import Lock

pytestmark = POSIX


def without_locks(monkeypatch, how: str) -> None:
    if how == "no module":
        monkeypatch.setitem(sys.modules, "fcntl", None)
        return

    def refuse(*of):
        raise OSError(getattr(errno, how), "no locks here")

    monkeypatch.setattr("fcntl.lockf", refuse)


@pytest.mark.parametrize("how", ["no module", "ENOLCK", "ENOSYS"])
def test_the_number_of_whoever_holds_it_decides(tmp_path, monkeypatch, how):
    without_locks(monkeypatch, how)
    file = tmp_path / "lock"
    ended = subprocess.Popen(["true"])
    ended.wait()
    for left in (f"{ended.pid}\n", "", "no number", "0\n", "-1\n"):  # nobody that is alive
        file.write_text(left)
        lock = Lock(str(file), "shown")
        assert lock.acquire() and file.read_text() == f"{os.getpid()}\n", left
        lock.release()
    file.write_text(f"{os.getppid()}\n")
    with pytest.raises(FilesError) as told:
        Lock(str(file), "shown").acquire()
    assert told.value.key == "locked" and file.read_text() == f"{os.getppid()}\n"


def test_a_lock_that_is_refused_is_held_by_somebody(tmp_path, monkeypatch):
    without_locks(monkeypatch, "EACCES")
    with pytest.raises(FilesError) as told:
        Lock(str(tmp_path / "lock"), "shown").acquire()
    assert told.value.key == "locked"


def test_a_process_does_not_take_it_twice(tmp_path):
    first, second = (Lock(str(tmp_path / "lock"), "shown") for _ in range(2))
    assert first.acquire()
    with pytest.raises(FilesError) as told:
        second.acquire()
    assert told.value.key == "locked"
    second.release(clear=True)
    assert (tmp_path / "lock").exists(), "who holds nothing clears nothing away"
    first.release(clear=True)
    assert not (tmp_path / "lock").exists() and second.acquire()
    second.release()


def test_a_folder_that_is_not_there_any_more(tmp_path):
    assert Lock(str(tmp_path / "gone" / "lock"), "shown").acquire() is False
