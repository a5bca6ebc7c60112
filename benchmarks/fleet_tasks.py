"""How many tasks a second the head of a Ray cluster hands out, and porter takes back.

    python benchmarks/fleet_tasks.py [--tasks 1000]

The tasks go the way of `porter fleet --ray` to two nodes on this machine and do nothing there: each is of another porter, which
is a row at once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks.fleet import started
from porter.fleet.cluster import rows
from porter.fleet.task import Limits, Task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1000)
    asked = parser.parse_args()
    cluster, _ = started(2)
    try:
        with tempfile.TemporaryDirectory() as folder:
            tasks = [
                Task(f"t-{n}", "folder", folder, "", {}, folder, "another porter", Limits(60, 1))
                for n in range(asked.tasks)
            ]
            began, first, found = time.perf_counter(), 0.0, set()
            for name, row in rows(tasks, cluster.address):
                first = first or time.perf_counter()
                assert row["why"]["en"].startswith("this node has porter")
                found.add(name)
            ended = time.perf_counter()
    finally:
        cluster.shutdown()
    assert len(found) == asked.tasks
    print(
        f"{asked.tasks} tasks: the first row after {first - began:.1f} s, then {(asked.tasks - 1) / (ended - first):.0f} a second"
    )


if __name__ == "__main__":
    main()
