"""What a whole process costs: CPU seconds and peak memory of it and of the processes it waited for. And a bare parse.

Any checkout of porter can be the one that runs; it is named by its folder.
"""

from __future__ import annotations

import gc
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
PORTER = "import sys; from porter.__main__ import main; main()"  # what the installed `porter` runs


class Cost(NamedTuple):
    cpu: float  # seconds, user and system
    wall: float
    memory: float  # MiB, of the largest process


def porter(*words: str) -> list[str]:
    return [sys.executable, "-c", PORTER, *words]


def cost(
    command: Sequence[str],
    cwd: Path,
    cache: Path,
    fine: frozenset[int] = frozenset({0, 1}),
    checkout: Path = REPOSITORY,
) -> Cost:
    """Run a command to its end. `cache` is where porter keeps its own, `checkout` whose porter is imported."""
    began = time.perf_counter()
    environment = _environment(cache, checkout)
    child = subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = code = os.waitstatus_to_exitcode(status)
    if code not in fine:
        raise SystemExit(f"benchmarks: {' '.join(command)} ended with {code}: {said.decode(errors='replace').strip()}")
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(used.ru_utime + used.ru_stime, wall, kilobytes / 1024)


def _environment(cache: Path, checkout: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(checkout),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "",  # an installed package has its bytecode
        "PYTHONPYCACHEPREFIX": str(cache.parent / "bytecode"),
        "PORTER_CACHE_DIR": str(cache),
    }


def instructions(command: Sequence[str], cwd: Path, cache: Path, checkout: Path = REPOSITORY) -> int:
    """How many instructions a command executes, as valgrind counts them: the same in each run, whatever else the machine does."""
    counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
    done = subprocess.run(counting, cwd=cwd, env=_environment(cache, checkout), capture_output=True, text=True)
    if (count := re.search(r"I +refs: +([\d,]+)", done.stderr)) is None:
        raise SystemExit(f"benchmarks: {' '.join(command)} was not counted: {done.stderr.strip()}")
    return int(count[1].replace(",", ""))


def medians(commands: Mapping[str, tuple[Sequence[str], Path]], cache: Path, rounds: int) -> dict[str, float]:
    """CPU seconds of each command, (words, folder to run it in): the median of `rounds`, taken in turn."""
    for command, cwd in commands.values():
        cost(command, cwd, cache)  # bytecode and compiled rules are there from now on
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (command, cwd) in commands.items():
            taken[name].append(cost(command, cwd, cache).cpu)
    return {name: statistics.median(times) for name, times in taken.items()}


def parse(files: Iterable[tuple[str, bytes]]) -> float:
    """CPU seconds of `libcst.parse_module` over files, in this process: what everything is compared with."""
    import libcst

    from porter.run.run import tuned

    with tuned():
        gc.collect()
        began = time.process_time()
        for _, data in files:
            try:
                libcst.parse_module(data)
            except libcst.ParserSyntaxError:
                pass
        return time.process_time() - began
