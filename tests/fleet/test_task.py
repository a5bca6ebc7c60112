"""What a process of its own says, as the one that started it reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter.fleet import identity, task
from porter.fleet.entries import FOLDER
from porter.fleet.store import opened

ROOM = """
import json, os, sys


def main():
    sys.stdin.buffer.readline()
    room = " ".join(str(os.fstat(number).st_size) for number in (1, 2))
    sys.stdout.write(json.dumps({"en": room, "zh": room}))
"""
FAILS = """
import sys


def main():
    sys.stdin.buffer.readline()
    raise OSError(28, "No space left on device")
"""
SILENT = "def main():\n    raise SystemExit(3)\n"


def why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, child: str) -> str:
    (tmp_path / "child_of_a_test.py").write_text(child)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(task, "CHILD", "child_of_a_test")
    output = str(tmp_path / "out")
    opened(output).begin()
    limits = task.Limits(60, 0)
    row = task.perform(task.Task("a", FOLDER, str(tmp_path), "", {}, output, identity.of_porter(), limits))
    return str(row["why"]["en"])


@pytest.mark.slow
def test_there_is_room_for_what_it_says_before_its_work_fills_the_disk(tmp_path, monkeypatch):
    assert min(map(int, why(tmp_path, monkeypatch, ROOM).split())) >= 4096


@pytest.mark.slow
@pytest.mark.parametrize(
    ("child", "last"), [(FAILS, "OSError: [Errno 28] No space left on device"), (SILENT, "exit 3")]
)
def test_how_it_failed_is_its_last_line(tmp_path, monkeypatch, child, last):
    assert why(tmp_path, monkeypatch, child) == f"its process failed: {last}"
