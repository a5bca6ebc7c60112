"""Does time grow as the input does? Doubles each kind of input and prints the exponent.

    python benchmarks/linear.py [--only REGEX] [--seconds S] [--memory]

CPU seconds of the analysis, the best of three, each input in a process of its own. The exponent is that of the last two
doublings; 1 where anything above 1.2 remains after a second look. --memory reads the largest file of each kind that
porter does not refuse, up to 5 MB, and prints the peak of its process; 1 above 500 MiB.

Of the thousands named "<kind> run: ..." most show at a glance that they do not grow: one process looks at all of a kind,
each four times as large again and again, until it takes a fifth of a second or porter reads no more. Only those that look
steep there, twice, or take longer than a minute, are measured as the others are; the rest is one line for each kind.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks.inputs import Input, inputs
from benchmarks.process import REPOSITORY

STEEPEST, LARGEST = 1.2, 500  # the exponent, MiB
FIRST, LEAST, ROUNDS = 250, 0.05, 3
HANGS, STUCK = 300, 60  # seconds: of a measurement, of a glance
GLANCE, TIMES = 0.2, 4  # seconds of its largest step, and how many times as large each is
RUNS = " run: "
LONGEST = 100_000  # findings in a report
Work = Callable[[], object]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="only the inputs whose name it is found in")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="S", help="of the largest step")
    parser.add_argument("--memory", action="store_true", help="the peak of a file of 5 MB, instead of the exponent")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--glance", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(_one(args.one, args.seconds, args.memory)))
        return 0
    if args.glance:
        _glance(sys.stdin.read().splitlines())
        return 0
    bad, names = 0, [name for name in [*inputs(), *_WORKS] if re.search(args.only, name)]
    if args.memory:
        names = [name for name in names if name not in _WORKS]
    else:
        names = [name for name in names if RUNS not in name] + _suspected([name for name in names if RUNS in name])
    for name in names:
        row = _asked(name, args)
        if row and not args.memory and row[-1] > STEEPEST:
            row = min(row, _asked(name, args) or row, key=lambda r: r[-1])  # the machine has other things to do, too
        if row is None:
            bad, said = bad + 1, f"more than {HANGS} s"
        elif args.memory:
            wrong = row[-1] > LARGEST
            bad, said = bad + wrong, f"{row[0] / 1e6:7.2f} MB {row[1]:8.2f} s {row[2]:6.0f} MiB" + " !" * wrong
        else:
            wrong = row[-1] > STEEPEST
            bad, said = bad + wrong, f"{row[0]:9} {row[1]:8.3f} s   exponent {row[2]:5.2f}" + " !" * wrong
        print(f"{name:58} {said}", flush=True)
    print(f"{bad} above the limit")
    return 1 if bad else 0


def _suspected(names: list[str]) -> list[str]:
    """Those that do not show at a glance that they are linear."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.partition(RUNS)[0], []).append(name)
    steep = []
    for kind, left in kinds.items():
        count, before = len(left), len(steep)
        while left:  # a process that is stuck leaves the rest to another
            seen = _seen(left)
            steep += [name for name, exponent in zip(left, seen) if exponent > STEEPEST]
            steep += left[len(seen) : len(seen) + 1]
            left = left[len(seen) + 1 :]
        print(f"{kind + RUNS}{count} kinds, {len(steep) - before} to be measured", flush=True)
    return steep


def _seen(names: list[str]) -> list[float]:
    """The exponents of as many of these as one process gets through."""
    command, seen = [sys.executable, __file__, "--glance"], []
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write("\n".join(names))
        process.stdin.close()
        while True:
            watch = threading.Timer(STUCK, process.kill)
            watch.start()
            line = process.stdout.readline()
            watch.cancel()
            if not line:
                return seen
            seen.append(float(line))


def _glance(names: list[str]) -> None:
    from porter.run.run import tuned

    with tuned():
        known = inputs()
        for name in names:
            growth = _growth(known[name])
            print(growth if growth <= STEEPEST else min(growth, _growth(known[name])), flush=True)


def _growth(given: Input) -> float:
    """The exponent of the last step; 0 where as much as porter reads takes less than that."""
    taken, n = [0.0], TIMES * FIRST
    _analysis(given, 1)()  # type: ignore[misc]
    while taken[-1] < GLANCE and (work := _analysis(given, n)):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
        n *= TIMES
    return math.log(taken[-1] / max(taken[-2], LEAST), TIMES) if taken[-1] >= GLANCE else 0.0


def _asked(name: str, args) -> list[float] | None:
    """Of the largest step: how much, seconds, and the exponent; with --memory bytes, seconds and MiB."""
    command = [sys.executable, __file__, "--one", name, "--seconds", str(args.seconds)]
    command += ["--memory"] if args.memory else []
    try:
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=HANGS, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def _one(name: str, seconds: float, memory: bool) -> list[float]:
    from porter.run.run import tuned

    with tuned():
        if name in _WORKS:
            return _steps(_WORKS[name], seconds)
        given = inputs()[name]
        if memory:
            return _peak(given)
        return _steps(lambda n: _analysis(given, n), seconds)


def _steps(make: Callable[[int], Work | None], seconds: float) -> list[float]:
    taken: list[tuple[int, float]] = []
    (make(1) or (lambda: None))()  # what is imported and compiled is there from now on
    n = FIRST
    while work := make(n):
        best = math.inf
        for _ in range(ROUNDS):
            began = time.process_time()
            work()
            best = min(best, time.process_time() - began)
        taken.append((n, best))
        if best >= seconds:
            break
        n *= 2
    clear = [(n, t) for n, t in taken if t >= LEAST][-3:]
    exponent = math.log(clear[-1][1] / clear[0][1], clear[-1][0] / clear[0][0]) if len(clear) > 1 else 0.0
    return [*taken[-1], exponent]


def _data(given: Input, n: int) -> bytes:
    text = given.make(n)
    return text.encode("latin-1" if text.startswith("# coding: latin-1") else "utf-8")


def _analysis(given: Input, n: int) -> Work | None:
    from porter.analysis.analyse import analyse
    from porter.analysis.session import open_session

    session = _analysis.__dict__.setdefault("session", open_session())
    data = _data(given, n)
    return None if len(data) > given.limit else lambda: analyse(given.path, data, session)


def _peak(given: Input) -> list[float]:
    n, beyond = FIRST, 2 * FIRST
    while _is_analysed(given, beyond):
        n, beyond = beyond, 2 * beyond
    while beyond - n > n // 50:
        middle = (n + beyond) // 2
        n, beyond = (middle, beyond) if _is_analysed(given, middle) else (n, middle)
    work = _analysis(given, n)
    began = time.process_time()
    work()  # type: ignore[misc]
    taken = time.process_time() - began
    return [len(_data(given, n)), taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]


def _is_analysed(given: Input, n: int) -> bool:
    """Neither too long nor too much code."""
    from porter.files.kinds import PYTHON, kind_of
    from porter.python.trees import fits

    data = _data(given, n)
    return len(data) <= given.limit and (kind_of(given.path) != PYTHON or fits(data))


# ---- what is no file


def _found(n: int):
    """A run over one file of n lines: the analysis of one of them, for each."""
    from porter.analysis.analyse import analyse
    from porter.analysis.session import open_session
    from porter.finding import Change
    from porter.run.config import Settings
    from porter.run.run import Run

    session, head, line = open_session(), b"import torch\n", b"y = x.cuda()\n"
    one = analyse("a.py", head + line, session)

    def all_of(changes):
        above = [c for c in changes if c.start < len(head)]
        below = [c for c in changes if c.start >= len(head)]
        moved = (Change(c.start + i * len(line), c.end + i * len(line), c.new) for i in range(n) for c in below)
        return (*above, *moved)

    def moved(finding, i):
        edit = tuple(Change(c.start + i * len(line), c.end + i * len(line), c.new) for c in finding.edit)
        return replace(finding, line=finding.line + i, end_line=finding.end_line + i, edit=edit)

    findings = tuple(moved(finding, i) for i in range(n) for finding in one.findings)
    data = head + line * n
    result = replace(one, findings=findings, auto=all_of(one.auto), review=all_of(one.review), lines=n + 1, digest="")
    return Run(Path("."), (result,), Settings(), session.target), session, data


def _report(kind: str, n: int) -> Work | None:
    if n > LONGEST:  # some formats say no more of a file than so much
        return None
    from porter import __version__
    from porter.report import render
    from porter.report.model import Report, Scan

    run, session, data = _found(n)
    report = Report(__version__, session, Scan(run.files, lambda path: data))
    return lambda: render(report, kind)


def _diff(n: int) -> Work:
    from porter.finding import Change
    from porter.report.diff import unified

    line = b"y = x.cuda()\n"
    data, at = line * n, line.index(b"cuda")
    changes = tuple(Change(i * len(line) + at, i * len(line) + at + 4, b"npu") for i in range(n))
    return lambda: unified("a.py", data, changes)


def _tree(make: Callable[[Path, int], None]) -> Callable[[int], Work]:
    def work(n: int) -> Work:
        from porter.analysis.session import open_session
        from porter.run.config import Settings
        from porter.run.run import run

        folder = tempfile.TemporaryDirectory()
        root = Path(folder.name)
        (root / ".git").mkdir()
        make(root, n)
        settings = Settings(jobs=1)
        return lambda: (folder, run(root, [folder.name], settings, open_session()))

    return work


def _files(root: Path, n: int) -> None:
    for number in range(n):
        (root / f"m{number}.py").write_text(f"import torch\nfrom m{number // 2} import f{number // 2}\nx.cuda()\n")


def _patterns(root: Path, n: int) -> None:
    (root / ".gitignore").write_text("".join(f"/a{number}/*.p?c\n" for number in range(n)))
    for number in range(50):
        (root / f"m{number}.py").write_text("import torch\nx.cuda()\n")


def _folders(root: Path, n: int) -> None:
    for number in range(n):
        (root / f"d{number}").mkdir()
        (root / f"d{number}" / ".gitignore").write_text("*.pyc\n")
        (root / f"d{number}" / "a.py").write_text("import torch\nx.cuda()\n")


_WORKS: dict[str, Callable[[int], Work | None]] = {
    **{f"report: {kind}": lambda n, kind=kind: _report(kind, n) for kind in ("json", "html", "sarif", "markdown")},
    "report: diff": _diff,
    "project: files": _tree(_files),
    "project: patterns of .gitignore": _tree(_patterns),
    "project: folders with a .gitignore": _tree(_folders),
}


if __name__ == "__main__":
    sys.exit(main())
