"""One repository, or one library, in a process of its own that has a limit of time and of memory, and that ends with the one that started it.

Every engine calls `perform`, with the same task. It never raises for what a repository does: that is a row.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from porter.files.documents import Json
from porter.fleet import identity
from porter.fleet.entries import Entry
from porter.fleet.layout import REPOSITORIES, ROW
from porter.fleet.libraries import Shared
from porter.fleet.row import of_failure
from porter.fleet.store import opened

CHILD = "porter.commands.fleet_repository"
SAME = "same"  # what the child answers where the result is there
_ROOM = 1 << 14  # bytes of what it says that find room on a disk that is full
_TAIL = 300  # characters of what a process says before it dies


class Limits(NamedTuple):
    seconds: int
    gigabytes: int  # 0: none


class Task(NamedTuple):
    id: str
    kind: str
    where: str
    revision: str
    options: Json  # of the command line: target, style, lang
    output: str
    porter: str  # which one gave the task: porter.fleet.identity
    limits: Limits
    name: str = ""
    shelf: str = REPOSITORIES  # or LIBRARIES: what is made of it
    libraries: tuple[Shared, ...] = ()  # of which every analysis knows


def of_entry(entry: Entry, options: Json, output: str, limits: Limits) -> Task:
    porter = identity.of_porter()
    return Task(entry.id, entry.kind, entry.where, entry.revision, options, output, porter, limits, entry.name)


def perform(task: Task, started: Callable[[subprocess.Popen[bytes]], None] = lambda child: None) -> Json:
    """The row of its result, which is in the store by then, and "is_new", whether it was made now."""
    store = opened(task.output)
    if identity.of_porter() != task.porter:
        here = identity.of_porter()
        return of_failure(
            f"this node has porter {here}, the command has {task.porter}; install the same everywhere",
            f"该节点上的 porter 为 {here}，发起命令的为 {task.porter}；请在各节点安装同一版本",
        ) | {"is_new": False}
    known = store.row(task.shelf, task.id)
    try:
        with tempfile.TemporaryDirectory(prefix="porter-fleet-", ignore_cleanup_errors=True) as work:
            result = os.path.join(work, "result")
            os.mkdir(result)
            answer = _child(task, known["key"] if known else "", work, started)
            if answer == SAME and known:
                return known | {"is_new": False}
            if isinstance(answer, dict):
                return answer | {"is_new": False}  # what an earlier run made stays, for when it can be had again
            with open(os.path.join(result, ROW), "rb") as stream:
                row: Json = json.loads(stream.read())
            store.put(task.shelf, task.id, result)
    except OSError as error:  # no room for temporary files, no more processes
        return of_failure(*[str(error.strerror or error)] * 2) | {"is_new": False}
    return row | {"is_new": True}


def _child(task: Task, known: str, work: str, started: Callable[[subprocess.Popen[bytes]], None]) -> Json | str:
    """What it answers, or the row of how it failed."""
    said, errors = os.path.join(work, "answer"), os.path.join(work, "errors")
    top = str(Path(__file__).resolve().parent.parent.parent)
    # the folder that it starts in is empty: nothing there is imported in the place of a module of Python
    program = f"import sys; sys.path[0] = {top!r}; from {CHILD} import main; main()"
    os.mkdir(empty := os.path.join(work, "empty"))
    for file in (said, errors):  # written over later: of a disk that its work has filled, the answer can tell
        Path(file).write_bytes(b" " * _ROOM)
    with open(said, "r+b") as answer, open(errors, "r+b") as log:
        child = subprocess.Popen(
            [sys.executable, "-c", program, work], cwd=empty, stdin=subprocess.PIPE, stdout=answer, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    assert child.stdin is not None
    started(child)
    try:
        with child.stdin:  # it ends when this end is closed, however that happens
            child.stdin.write(json.dumps({**task._asdict(), "known": known}).encode() + b"\n")
            child.stdin.flush()
            child.wait(task.limits.seconds)
    except BrokenPipeError:
        child.wait()
    except subprocess.TimeoutExpired:
        end(child)
        seconds = task.limits.seconds
        return of_failure(f"not done after {seconds} s (--timeout)", f"{seconds} 秒内未完成（--timeout）")
    finally:
        end(child)
    return _answer(child.returncode, said, errors)


def end(child: subprocess.Popen[bytes]) -> None:
    """With all that it started, as git is."""
    if child.poll() is None or sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL) if sys.platform != "win32" else child.kill()
    child.wait()


def _answer(code: int, said: str, errors: str) -> Json | str:
    text = Path(said).read_text("utf-8", "replace").strip()
    if code == 0 and text:
        found = json.loads(text)
        return of_failure(found["en"], found["zh"]) if isinstance(found, dict) else str(found)
    if code < 0:
        name = signal.Signals(-code).name
        return of_failure(f"its process was ended: {name}", f"其进程被终止：{name}")
    lines = Path(errors).read_text("utf-8", "replace").strip().splitlines()
    last = lines[-1][-_TAIL:] if lines else f"exit {code}"
    return of_failure(f"its process failed: {last}", f"其进程失败：{last}")
