"""Where does the time of `porter analyze` go? A sampler of CPU time, over the repositories that are dense with CUDA.

    python benchmarks/phases.py [--only REGEX]

One process for each repository, with one job and without cached findings, whose own time a timer asks for. Each sample counts
for the first row that some function of its stack belongs to; the last two rows count every sample that is in such a parser.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
SECONDS = 0.004  # of CPU time, between two samples
ROWS = {
    "imports": ("_bootstrap>:_find_and_load",),
    "facts over all files of the project": ("run/gather.py:gather",),
    "places in files that the run leaves out, places that wait for others": ("project/consistency.py:consistent",),
    "what nothing runs, what is told together": (
        "project/resting.py:rested",
        "project/told_by_cause.py:told_by_cause",
        "project/told_by_function.py:told_by_function",
        "project/told_together.py:told_together",
        "project/set_aside.py:set_aside",
    ),
    "each file: the second look at its port": ("analysis/promises.py:promised",),
    "files that are not Python, notebooks": ("analysis/text.py:examine", "analysis/notebook.py:analyse"),
    "... LibCST's trees of statements": ("python/units.py:", "libcst/_parser/entrypoints.py:"),
    "... the rules, and what they rewrite": ("python/rewrite.py:rewrite",),
    "... tree, index and names": ("analysis/parsed.py:__init__",),
    "... which statements matter": ("analysis/candidates.py:candidates",),
    "... what advice and the inventory need": ("advice/observe.py:observed", "python/inventory.py:"),
    "... its findings, suppressions, sites, and the rest": ("run/run.py:analyse_file",),
    "finding and reading files": ("run/run.py:_gate", "files/discover.py:discover"),
    "the printed report": ("commands/analyze.py:_show", "commands/view.py:report_of"),
    "the rest": ("",),
}
BESIDE = {
    "`ast.parse`, everywhere": ("/ast.py:parse",),
    "LibCST's parser, everywhere": ("libcst/_parser/entrypoints.py:",),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="these repositories alone")
    args = parser.parse_args()
    from benchmarks import corpora, dense
    from benchmarks.tables import line, table

    try:
        folders = dense.fetch(args.only)
    except corpora.Missing as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as work:
        _counted(HERE.parent / "examples", Path(work))  # bytecode and compiled rules are there from now on
        counts = [_counted(folder, Path(work)) for folder in folders.values()]
    for text in table(("", *folders)):
        print(text)
    for row in (*ROWS, *BESIDE):
        print(line(row, *(f"{100 * count[row] / max(1, count['all']):.0f}" for count in counts)))
    return 0


def _counted(folder: Path, work: Path) -> Counter[str]:
    command = [sys.executable, str(HERE / "phases.py"), "--sampled", str(folder)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "PYTHONDONTWRITEBYTECODE": "",  # an installed package has its bytecode
        "PYTHONPYCACHEPREFIX": str(work / "bytecode"),
        "PORTER_CACHE_DIR": str(work / "cache"),
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return Counter(json.loads(done.stderr.splitlines()[-1]))


def sampled(folder: str) -> None:
    """What this process counts of its own stack while it analyses a folder; as JSON, in the last line of stderr."""
    counts: Counter[str] = Counter()

    def take(_: int, frame: FrameType | None) -> None:
        stack = []
        while frame is not None:
            stack.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")
            frame = frame.f_back
        counts["all"] += 1
        held = (row for row, marks in ROWS.items() if any(mark in place for mark in marks for place in stack))
        counts[next(held)] += 1
        counts.update(row for row, marks in BESIDE.items() if any(mark in place for mark in marks for place in stack))

    gc.set_threshold(100_000, 20, 100)  # as porter/__main__.py does
    sys.argv = ["porter", "analyze", folder, "--no-cache", "--jobs", "1"]
    signal.signal(signal.SIGPROF, take)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS)
    try:
        from porter.cli.app import main as run

        run()
    except SystemExit:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps(counts), file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--sampled"]:
        sampled(sys.argv[2])
    else:
        sys.exit(main())
