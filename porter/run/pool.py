"""One file after the other in several processes. Paths in, results out; a worker that dies takes one file with it."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from porter.engine.refusals import refusal
from porter.engine.session import Session
from porter.finding import FileResult

Look = Callable[[Path, str, Session], FileResult]  # at one file; a function of a module, which can be pickled
_root: Path
_session: Session
_look: Look


def pooled(root: Path, paths: Sequence[str], session: Session, jobs: int, look: Look) -> Iterator[FileResult]:
    """Results of `paths` in any order. The order in which they are given is the order in which they start."""
    size = max(1, min(32, len(paths) // (jobs * 8)))
    chunks = [paths[n : n + size] for n in range(0, len(paths), size)]
    while chunks:
        suspects: list[str] = []
        for result in _several(root, chunks, session, jobs, suspects, look):
            yield from result
        for path in suspects:  # one of them ended the worker; alone, it ends nothing but its own
            yield _alone(root, path, session, look)


def _several(
    root: Path, chunks: list[Sequence[str]], session: Session, jobs: int, suspects: list[str], look: Look
) -> Iterator[list[FileResult]]:
    """Takes from `chunks` until it is empty or a worker dies; then the chunks under way are `suspects`."""
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
    pool = _start(root, session, 1, look)
    try:
        return pool.submit(_analyse, [path]).result()[0]
    except BrokenProcessPool:
        return refusal(path, "crashed", session, error="the process that analysed it died")
    finally:
        _stop(pool)


def _start(root: Path, session: Session, jobs: int, look: Look) -> ProcessPoolExecutor:
    # fork with threads around is a known hazard
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, context, _initialise, (root, session, look))


def _stop(pool: ProcessPoolExecutor) -> None:
    pool.shutdown(wait=True, cancel_futures=True)


def _initialise(root: Path, session: Session, look: Look) -> None:
    global _root, _session, _look
    _root, _session, _look = root, session, look
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends the pool
    session.rules  # noqa: B018  loaded before what is loaded is frozen
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def _analyse(paths: Sequence[str]) -> list[FileResult]:
    return [_look(_root, path, _session) for path in paths]
