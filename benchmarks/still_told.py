"""What porter still tells of the findings without an edit that readers judged (ledgers/findings.jsonl), by code.

    python benchmarks/still_told.py CHECKOUTS                the repositories of the last five draws that lie there
    python benchmarks/still_told.py CHECKOUTS --draws 1 --only 'GLIP' --rows useless,false,lost

CHECKOUTS has a folder for each repository, named as benchmarks/corpora.py names them: owner+name-first12ofcommit. Nothing is fetched.
A finding counts once, with all places that it names: it is useful where one of its judged places was, else false where one was.
A useful row that is told nowhere any more is lost. `new` counts findings none of whose places anybody has judged.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks.judged import FRESH, drawn
from benchmarks.same_bytes import report
from benchmarks.tables import line, table
from porter.engine.together import further_places

HERE = Path(__file__).resolve().parent
SHOWN = ("useful", "useless", "false")
Row = dict[str, str]


class Answer(NamedTuple):
    verdict: str  # of a finding that is told: one of SHOWN, or new; of a row that is not: lost or gone
    code: str
    place: str
    note: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--draws", type=int, default=5, help="how many, from the last")
    parser.add_argument("--only", default="", metavar="REGEX", help="of repositories")
    parser.add_argument(
        "--rows", default="lost", metavar="WORDS", help="which to list: useful, useless, false, lost, gone, new"
    )
    parser.add_argument("--porter", type=Path, default=HERE.parent, metavar="DIR", help="another checkout of porter")
    args = parser.parse_args()
    rows = defaultdict(list)
    for row in map(json.loads, (HERE / "ledgers/findings.jsonl").read_text(encoding="utf-8").splitlines()):
        rows[row["repository"]].append(row)
    answers: list[Answer] = []
    judged: Counter[tuple[str, str]] = Counter()
    for repository, commit in chain(*[*drawn(FRESH).values()][-args.draws :]):
        folder = args.checkouts / f"{repository.replace('/', '+')}-{commit[:12]}"
        if not re.search(args.only, repository) or not rows[repository]:
            continue
        if not folder.is_dir():
            print(f"{folder.name}: no such checkout", file=sys.stderr)
            continue
        judged.update((row["code"], row["verdict"]) for row in rows[repository])
        for answer in answered(rows[repository], told(folder, args.porter)):
            answers.append(answer)
            if answer.verdict in args.rows.split(","):
                print(answer.verdict, answer.code, repository, answer.place, "|", answer.note, flush=True)
    show(judged, answers)
    return 0


def told(folder: Path, porter: Path) -> list[dict[str, Any]]:
    """The findings without an edit of a report."""
    found = (report(porter, folder) or {"findings": []})["findings"]
    return [f for f in found if not f["edit"] and f["suppressed"] is None]


def answered(rows: list[Row], findings: list[dict[str, Any]]) -> Iterator[Answer]:
    """What became of each judged row, and what is told that nobody has judged."""
    by_line: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        by_line[row["code"], at_line(row["place"])].append(row)
    found: set[tuple[str, str]] = set()
    for f in findings:
        first = f"{f['path']}:{f['line']}"
        places = [first, *(f"{path}:{number}" for path, number in further_places(f["path"], f["values"]))]
        keys = [(f["code"], place) for place in places]
        known = [row for key in keys for row in by_line.get(key, ())]
        fresh = [row for row in known if (row["code"], row["place"]) not in found]
        found.update((row["code"], row["place"]) for row in known)
        if known and not fresh:  # a second finding of the same line and code: its row stands for both
            continue
        verdicts = {row["verdict"] for row in known}
        verdict = next((v for v in ("useful", "false", "useless") if v in verdicts), "new")
        note = next((row["note"] for row in known if row["verdict"] == verdict), f["message"])
        yield Answer(verdict, f["code"], first, note)
    for row in rows:
        if (row["code"], row["place"]) not in found:
            yield Answer("lost" if row["verdict"] == "useful" else "gone", row["code"], row["place"], row["note"])


def at_line(place: str) -> str:
    """`a.py:3:7` is `a.py:3`"""
    match = re.match(r"(.*?:\d+)(?::\d+)?$", place)
    return match[1] if match else place


def show(judged: Counter[tuple[str, str]], answers: list[Answer]) -> None:
    counts = Counter((answer.code, answer.verdict) for answer in answers)
    codes = sorted(
        {code for code, _ in (*judged, *counts)}, key=lambda c: (-counts[c, "useless"] - counts[c, "false"], c)
    )
    heads = ("code", *(f"judged {v}" for v in SHOWN), *SHOWN, "useful ones lost", "new")
    for text in table(heads):
        print(text)
    every = [("all", codes), *((code, [code]) for code in codes)]
    for name, several in every:
        before = [sum(judged[code, v] for code in several) for v in SHOWN]
        now = [sum(counts[code, v] for code in several) for v in (*SHOWN, "lost", "new")]
        if any(before) or name == "all":
            print(line(name, *map(str, (*before, *now))))


if __name__ == "__main__":
    sys.exit(main())
