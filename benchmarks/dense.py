"""What porter costs where it has much to say: repositories that are dense with CUDA, as people port them.

Whole processes of `porter analyze` from start to end: all kinds of files, facts included, no cached findings. `speed.py --dense`
prints this. Against another checkout of porter it is a gate; only one job is held to the limit: what many processes cost
that share the cores says more about the machine.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import corpora
from benchmarks.process import REPOSITORY, cost, instructions, parse, porter
from benchmarks.tables import line, machine, table

LIMIT = 1.05  # CPU seconds now / then, all repositories together; docs/performance.md says it too


class Repository(NamedTuple):
    name: str
    github: str  # its commit stands in same_bytes.txt
    folder: str = "."


REPOSITORIES = (
    Repository("megatron-core", "NVIDIA/Megatron-LM", "megatron/core"),
    Repository("detectron2", "facebookresearch/detectron2"),
    Repository("DeepLearningExamples/PyTorch", "NVIDIA/DeepLearningExamples", "PyTorch"),
    Repository("pytorch/examples", "pytorch/examples"),
)


class Row(NamedTuple):
    """CPU seconds; the tuples have one number for each checkout of porter that is measured."""

    name: str
    files: int  # in Python, that pass the gate
    lines: int
    parse: float
    one: tuple[float, ...]  # with one job
    cores: tuple[float, ...]  # with all cores
    ratio: float = 1.0  # of the first checkout to the last, one job: the median over the rounds


def main(folders: dict[str, Path], against: Path | None, rounds: int, work: Path, note: Path | None = None) -> int:
    """`note`: a file for what was measured, as JSON."""
    if not against:
        rows: list[Row] = []
        for text in today(folders, rounds, work, rows):
            print(text, flush=True)
        _note(note, rows, ("now",))
        return 0
    rows = []
    for text in table(("corpus", "now / parse", "then / parse", "now / then", "now / then, all cores")):
        print(text, flush=True)
    for row in measured(folders, (REPOSITORY, against.resolve()), rounds, work):
        (now, then), (now_cores, then_cores) = row.one, row.cores
        ratios = (now / row.parse, then / row.parse, row.ratio, now_cores / then_cores)
        print(line(row.name, *(f"{ratio:.3f}" for ratio in ratios)), flush=True)
        rows.append(row)
        _note(note, rows, ("now", "then"))
    slower = row.ratio > LIMIT  # the last row is the sum
    print(f"now / then of all is {'above' if slower else 'within'} the limit of {LIMIT:.2f}")
    return 1 if slower else 0


def counted(folders: dict[str, Path], against: Path, work: Path) -> int:
    """The gate by instructions. They say less than CPU time, as an instruction of a search takes less of it than one of the
    interpreter; but two counts of the same are equal, where two times differ by up to a tenth."""
    nowhere, caches = _prepared(work, (REPOSITORY, against.resolve()))
    sums = [0, 0]
    for text in table(("corpus", "instructions now, 10^9", "then", "now / then")):
        print(text, flush=True)
    for name, folder in folders.items():
        command = porter("analyze", str(folder), "--no-cache", "--jobs", "1")
        counts = [instructions(command, nowhere, cache, checkout) for checkout, cache in caches.items()]
        sums = [one + count for one, count in zip(sums, counts)]
        print(line(name, *(f"{n / 1e9:.2f}" for n in counts), f"{counts[0] / counts[1]:.3f}"), flush=True)
    print(line("**all**", *(f"{n / 1e9:.2f}" for n in sums), f"{sums[0] / sums[1]:.3f}"))
    return 1 if sums[0] > LIMIT * sums[1] else 0


def _prepared(work: Path, checkouts: Sequence[Path]) -> tuple[Path, dict[Path, Path]]:
    """A folder to run in, and a cache for each checkout of porter: bytecode and compiled rules are there from now on."""
    nowhere = work / "nowhere"
    nowhere.mkdir(parents=True, exist_ok=True)
    caches = {checkout: work / f"cache-{n}" for n, checkout in enumerate(checkouts)}
    for checkout, cache in caches.items():
        compiling = [sys.executable, "-m", "compileall", "-q", str(checkout / "porter")]
        cost(compiling, nowhere, cache, checkout=checkout)
        cost(
            porter("analyze", str(REPOSITORY / "examples"), "--no-cache", "--jobs", "1"),
            nowhere,
            cache,
            checkout=checkout,
        )
    return nowhere, caches


def _note(file: Path | None, rows: list[Row], checkouts: tuple[str, ...]) -> None:
    if file is None:
        return
    noted = [
        {"corpus": r.name, "files": r.files, "lines": r.lines, "parse": round(r.parse, 3)}
        | {
            name: {"one": round(one, 3), "cores": round(cores, 3), "one / parse": round(one / r.parse, 3)}
            for name, one, cores in zip(checkouts, r.one, r.cores)
        }
        for r in rows
    ]
    file.write_text(json.dumps({"machine": machine(), "unit": "CPU seconds", "rows": noted}, indent=1) + "\n")


def today(folders: dict[str, Path], rounds: int, work: Path, rows: list[Row] | None = None) -> Iterator[str]:
    yield from table(("corpus", "Python files", "lines", "analyze / parse", "with all cores"))
    for row in measured(folders, (REPOSITORY,), rounds, work):
        ratios = (row.one[0] / row.parse, row.cores[0] / row.parse)
        if rows is not None:
            rows.append(row)
        yield line(row.name, f"{row.files:,}", f"{row.lines:,}", *(f"{ratio:.2f}" for ratio in ratios))


def fetch(only: str = "") -> dict[str, Path]:
    """Name -> folder. Raises corpora.Missing."""
    commits = {github: commit for github, commit, *_ in corpora.listed()}
    chosen = [r for r in REPOSITORIES if re.search(only, r.name)]
    if not chosen:
        raise corpora.Missing(f"{only}: the name of no repository; there are {', '.join(r.name for r in REPOSITORIES)}")
    return {r.name: corpora.checkout(r.github, commits[r.github]) / r.folder for r in chosen}


def measured(folders: dict[str, Path], checkouts: Sequence[Path], rounds: int, work: Path) -> Iterator[Row]:
    """A row for each, then their sum. The smallest of `rounds`, as what disturbs only adds; the checkouts of porter in turn;
    once with all cores. Two checkouts are compared round by round: a machine that others use is slower for minutes."""

    def analysis(checkout: Path, folder: Path, jobs: int) -> float:
        # python imports from the folder that it runs in before all others: never from somebody else's
        command = porter("analyze", str(folder), "--no-cache", "--jobs", str(jobs))
        return cost(command, nowhere, caches[checkout], checkout=checkout).cpu

    nowhere, caches = _prepared(work, checkouts)
    rows = []
    for name, folder in folders.items():
        files, bare = corpora.gated(folder), []
        one: list[list[float]] = [[] for _ in checkouts]
        for _ in range(rounds):
            bare.append(parse(files))
            for times, checkout in zip(one, checkouts):
                times.append(analysis(checkout, folder, 1))
        cores = tuple(analysis(checkout, folder, 0) for checkout in checkouts)
        lines = sum(data.count(b"\n") for _, data in files)
        ratio = statistics.median(now / then for now, then in zip(one[0], one[-1]))
        rows.append(Row(name, len(files), lines, min(bare), tuple(map(min, one)), cores, ratio))
        yield rows[-1]
    yield together(rows)


def together(rows: Iterable[Row]) -> Row:
    rows = list(rows)
    _, files, lines, bare, one, cores, ratios = zip(*rows)
    ratio = sum(ratio * times[-1] for ratio, times in zip(ratios, one)) / sum(times[-1] for times in one)
    sums = tuple(map(sum, zip(*one))), tuple(map(sum, zip(*cores)))
    return Row("**all**", sum(files), sum(lines), sum(bare), *sums, ratio)
