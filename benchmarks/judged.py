"""How many edits were right, by the judgements in ledgers/edits.jsonl, and how many findings without an edit were worth
reading, by those in ledgers/findings.jsonl: a line for each draw of fresh repositories. At the end, what readers found missing.

    python benchmarks/judged.py

The repositories of a draw were listed before porter was run on them (ledgers/edits_fresh.txt, with the commit of porter). A
wrong edit is mended after its draw, and counts as wrong. Rows that are `rare` were chosen for their shape (shapes.py) and are of no draw. Rows that name a style are of the draws of styles alone, in a table of their own. Of edits of the same shape in one repository some draws hold one row.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks.tables import line, table

LEDGERS = Path(__file__).resolve().parent / "ledgers"
FRESH, STYLES = "# porter at ", "# styles portable and shim, porter at "  # how the lines of their draws begin


def main() -> int:
    draws, of_styles = (
        {commit: [name for name, _ in rows] for commit, rows in drawn(head).items()} for head in (FRESH, STYLES)
    )
    edits, findings = (_rows(name) for name in ("edits.jsonl", "findings.jsonl"))
    for text in table(
        ("porter at", "repositories", "automatic", "wrong", "doubtful", "for review", "wrong", "doubtful")
    ):
        print(text)
    for commit, repositories in draws.items():
        of_draw = (row for row in edits if row["repository"] in repositories and not {"style", "rare"} & row.keys())
        found = Counter((row["was"], row["verdict"]) for row in of_draw)
        counts = [
            (sum(n for (was, _), n in found.items() if was == kind), found[kind, "wrong"], found[kind, "doubtful"])
            for kind in ("auto", "review")
        ]
        print(line(commit, str(len(repositories)), *(f"{n:,}" for kind in counts for n in kind)))
    rare = Counter((row["was"], row["verdict"]) for row in edits if "rare" in row)
    for kind, name in (("auto", "automatic"), ("review", "for review")):
        rows = sum(n for (was, _), n in rare.items() if was == kind)
        print(
            f"\nof rare shapes: {rows} {name}, {rare[kind, 'wrong']} wrong, {rare[kind, 'doubtful']} doubtful", end=""
        )
    print("\n")
    _styles(edits, of_styles)
    for text in table(("porter at", "findings without an edit", "useful", "true and no use", "false")):
        print(text)
    for commit, repositories in draws.items():
        verdicts = Counter(row["verdict"] for row in findings if row["repository"] in repositories)
        if verdicts:
            counted = (verdicts[verdict] for verdict in ("useful", "useless", "false"))
            print(line(commit, f"{verdicts.total():,}", *(f"{n:,}" for n in counted)))
    misses = _rows("misses.jsonl")
    told = sum(row["told_now"] for row in misses)
    print(f"\nfound missing by readers: {len(misses)} places, of which {told} have a finding now")
    return 0


def drawn(head: str) -> dict[str, list[tuple[str, str]]]:
    """The repositories, with their commits, of each draw whose line begins with these words."""
    draws: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] = []
    for row in (LEDGERS / "edits_fresh.txt").read_text(encoding="utf-8").splitlines():
        if row.startswith("# ") and " at " in row:
            current = draws.setdefault(row.removeprefix(head), []) if row.startswith(head) else []
        elif row and not row.startswith("#"):
            repository, commit = row.split()[:2]
            current.append((repository, commit))
    return draws


def _styles(edits: list[dict[str, str]], draws: dict[str, list[str]]) -> None:
    """Edits in the styles portable and shim, by draw; without a draw, those judged while the style was made."""
    titles = ("porter at", "style", "repositories", "automatic", "wrong", "doubtful", "for review", "wrong", "doubtful")
    for text in table(titles):
        print(text)
    of_draws = [repository for repositories in draws.values() for repository in repositories]
    for commit, repositories in [*draws.items(), ("all draws", of_draws), ("no draw", None)]:
        for style in ("portable", "shim"):
            rows = [row for row in edits if row.get("style") == style]
            if repositories is None:
                rows = [row for row in rows if row["repository"] not in of_draws]
            else:
                rows = [row for row in rows if row["repository"] in repositories]
            found = Counter((row["was"], row["verdict"]) for row in rows)
            counts = [
                (sum(n for (was, _), n in found.items() if was == kind), found[kind, "wrong"], found[kind, "doubtful"])
                for kind in ("auto", "review")
            ]
            judged = {row["repository"] for row in rows}  # of a draw, those without an edit count as well
            of_style = [one for named in draws.values() if not judged.isdisjoint(named) for one in named]
            many = len(of_style) if repositories is of_draws else len(repositories or judged)
            if rows:
                print(line(commit, style, many, *(f"{n:,}" for kind in counts for n in kind)))
    print()


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(row) for row in (LEDGERS / name).read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
