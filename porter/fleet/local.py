"""The engine of one machine: so many processes at a time, a repository each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock

from porter.files.documents import Json
from porter.fleet.task import Task, end, perform


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rows(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[str, Json]]:
    """The id and the row of each, in the order in which they end."""
    children: list[subprocess.Popen[bytes]] = []
    lock, is_over = Lock(), False

    def started(child: subprocess.Popen[bytes]) -> None:
        with lock:
            children[:] = [one for one in children if one.returncode is None]
            children.append(child)
        if is_over:
            end(child)

    waiting = iter(tasks)
    running: dict[Future[Json], str] = {}
    # threads that wait for processes: nothing of a repository is ever in the memory of this one
    pool = ThreadPoolExecutor(jobs)
    try:
        while True:
            while len(running) < jobs and (task := next(waiting, None)) is not None:
                running[pool.submit(perform, task, started)] = task.id
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        is_over = True
        with lock:
            for child in children:
                if child.returncode is None:
                    end(child)
        pool.shutdown(wait=True, cancel_futures=True)
