"""Analyses files in several processes. If a process dies, only the result of the file that ended it is lost."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from porter.collector import THRESHOLD
from porter.engine.refusals import refusal
from porter.engine.session import Session
from porter.finding import FileResult

# analyses one file; a function of a module, because it is pickled
Look = Callable[[Path, str, Session], FileResult]
# set in each process when it starts
_root: Path
_session: Session
_look: Look


def pooled(root: Path, paths: Sequence[str], session: Session, jobs: int, look: Look) -> Iterator[FileResult]:
    """The results of `paths`, in any order. The files are started in the order of `paths`."""
    size = max(1, min(32, len(paths) // (jobs * 8)))
    chunks = [paths[n : n + size] for n in range(0, len(paths), size)]
    while chunks:
        suspects: list[str] = []
        for result in _several(root, chunks, session, jobs, suspects, look):
            yield from result
        for path in suspects:  # one of them ended the process: each gets a process of its own now
            yield _alone(root, path, session, look)


def _several(
    root: Path, chunks: list[Sequence[str]], session: Session, jobs: int, suspects: list[str], look: Look
) -> Iterator[list[FileResult]]:
    """Takes chunks from `chunks` until it is empty or a process dies. Then the files of the running chunks go to `suspects`."""
    pool = _start(root, session, jobs, look)
    running: dict[Future[list[FileResult]], Sequence[str]] = {}
    try:
        while chunks or running:
            while chunks and len(running) < 2 * jobs and not suspects:
                try:
                    running[pool.submit(_analyse, chunks[0])] = chunks[0]
                except BrokenProcessPool:
                    break
                del chunks[0]
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                paths = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    suspects += paths
            if suspects and not running:
                return
    finally:
        _stop(pool)


def _alone(root: Path, path: str, session: Session, look: Look) -> FileResult:
    """The result of one file, analysed in a process of its own."""
    pool = _start(root, session, 1, look)
    try:
        return pool.submit(_analyse, [path]).result()[0]
    except BrokenProcessPool:
        return refusal(path, "crashed", session, error="the process that analysed it died")
    finally:
        _stop(pool)


def _start(root: Path, session: Session, jobs: int, look: Look) -> ProcessPoolExecutor:
    # "spawn", because a fork of a process with threads may hang
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, context, _initialise, (root, session, look))


def _stop(pool: ProcessPoolExecutor) -> None:
    pool.shutdown(wait=True, cancel_futures=True)


def _initialise(root: Path, session: Session, look: Look) -> None:
    global _root, _session, _look
    _root, _session, _look = root, session, look
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends the pool
    session.rules  # noqa: B018  loads the rules now, so that gc.freeze() covers them
    gc.freeze()  # see `tuned` in collector.py
    gc.set_threshold(*THRESHOLD)


def _analyse(paths: Sequence[str]) -> list[FileResult]:
    return [_look(_root, path, _session) for path in paths]
