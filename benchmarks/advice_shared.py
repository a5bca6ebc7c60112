"""How much of the advice that is shown for one repository is shown for another one, too, and how often each piece is called for.

    python benchmarks/advice_shared.py CHECKOUT...          a table of pairs: what both are shown, in percent of what the two are
    python benchmarks/advice_shared.py --often CHECKOUT...  of each piece, in how many percent of the repositories
    python benchmarks/advice_shared.py --all CHECKOUT...    pairs, of all that is said instead of what is shown

Repositories are folders, or findings.json that `porter analyze --output` wrote. Where pieces are rare or common is written into
rules/advice as `often`, in tens of a hundred.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

from porter.report.advice import of_standing

Said = dict[str, list[dict]]  # name of the repository -> its advice


def said(path: str) -> list[dict]:
    if path.endswith(".json"):
        return json.loads(Path(path).read_text("utf-8"))["advice"]
    command = [sys.executable, "-m", "porter", "advise", path, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["advice"]


def pairs(given: Said, everything: bool) -> str:
    shown = {
        name: {r["id"] for r in (rows if everything else of_standing(rows, "here"))} for name, rows in given.items()
    }
    names = list(shown)
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for one in names:
        cells = [
            f"{share(shown[one], shown[other]):.0f}" if one != other else f"{len(shown[one])} shown" for other in names
        ]
        lines.append(f"| {one} | " + " | ".join(cells) + " |")
    shares = sorted(share(shown[a], shown[b]) for a, b in combinations(names, 2))
    mean, most = sum(shares) / len(shares), shares[-1]
    shorter = sum(
        100 * len(shown[a] & shown[b]) / max(1, min(len(shown[a]), len(shown[b]))) for a, b in combinations(names, 2)
    )
    lines += [
        "",
        f"in percent of the shorter list: mean {shorter / len(shares):.0f} %",
        f"{len(shares)} pairs: mean {mean:.0f} %, largest {most:.0f} %, {sum(s * 3 >= 100 for s in shares)} with a third or more",
    ]
    return "\n".join(lines)


def share(one: set[str], other: set[str]) -> float:
    return 100 * len(one & other) / max(1, len(one | other))


def often(given: Said) -> str:
    counts = Counter(row["id"] for rows in given.values() for row in rows)
    return "\n".join(f"{100 * count / len(given):3.0f} {name}" for name, count in counts.most_common())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--often", action="store_true")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    rows = {Path(path).stem: said(path) for path in given.repositories}
    print(often(rows) if given.often else pairs(rows, given.all))


if __name__ == "__main__":
    main()
