"""`make coverage` ends here: the branches that the tests took, by room, and the files with most of the others.

Processes that porter starts count as well; what runs in the programs of `porter verify` does not.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path

import coverage

GOALS = defaultdict(lambda: 85, dict.fromkeys(("engine", "files", "text", "run"), 95))
LOWEST = 15


def summaries() -> dict[Path, dict[str, int]]:
    """Of each file below porter/."""
    measured = coverage.Coverage()
    measured.load()
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        measured.json_report(outfile=file.name)
        found = json.load(file)["files"]
    return {
        Path(*Path(name).parts[Path(name).parts.index("porter") + 1 :]): of["summary"] for name, of in found.items()
    }


def rooms(files: dict[Path, dict[str, int]]) -> dict[str, tuple[int, int]]:
    """Branches taken, and branches."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for path, summary in files.items():
        room = path.parts[0].removesuffix(".py")
        taken, there = found[room]
        found[room] = taken + summary["covered_branches"], there + summary["num_branches"]
    return dict(sorted(found.items()))


def main() -> None:
    files = summaries()
    for room, (taken, there) in rooms(files).items():
        if there:
            percent = 100 * taken / there
            print(f"{room:12} {percent:5.1f} %  {there - taken:5} of {there:5} not taken", end="")
            print("" if percent >= GOALS[room] else f", the goal is {GOALS[room]} %")
    print()
    for path, summary in sorted(files.items(), key=lambda item: -item[1]["missing_branches"])[:LOWEST]:
        print(f"{summary['missing_branches']:5} of {summary['num_branches']:5}  porter/{path.as_posix()}")


if __name__ == "__main__":
    main()
