"""Whether porter crashes on checkouts, or breaks a promise of its own, in each style.

    python benchmarks/refused.py CHECKOUTS [CHECKOUTS ...]          every folder with "+" in its name below these
    python benchmarks/refused.py CHECKOUTS --style portable

Nothing is fetched, and nothing of a checkout is run. It says nothing of whether an edit is right. Exit code 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP)]

from benchmarks.same_bytes import report
from porter.run.said import OUTSIDE
from porter.target import STYLES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--style", choices=STYLES, action="append")
    args = parser.parse_args()
    folders = sorted({folder for above in args.checkouts for folder in above.iterdir() if "+" in folder.name})
    found = 0
    for folder in folders:
        for style in args.style or STYLES:
            for fault in faults(folder.resolve(), style):
                found += 1
                print(folder.name, style, fault, flush=True)
    print(f"{found} faults in {len(folders)} checkouts")
    return found > 0


def faults(folder: Path, style: str) -> Iterator[str]:
    made = report(TOP, folder, "--no-cache", "--style", style)
    if made is None:
        yield "no report"
        return
    for finding in made["findings"]:
        if finding["code"] == "PRT003" and finding["why"] not in OUTSIDE:
            yield f"{finding['path']}:{finding['line']} {finding['message']}"


if __name__ == "__main__":
    sys.exit(main())
