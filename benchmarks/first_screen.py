"""Does a number mean the same everywhere? Every number of the terminal's first screen, of the tiles of the HTML page and of the
Markdown, recomputed from the findings in the JSON of the same run.

    python benchmarks/first_screen.py [--only REGEX]     over the checkouts of same_bytes.txt, which are fetched where they are missing

Prints a row for each disagreement and ends with 1 where there is one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks import corpora
from benchmarks.same_bytes import run
from porter.report.causes import is_aside

HERE = Path(__file__).resolve().parent
Json = dict[str, Any]
SEVERITIES, STATUSES = ("blocker", "wrong", "slow", "note"), ("auto", "review", "manual")
STOPS, SLOWS = ("blocker", "wrong"), ("slow",)
UNREAD = ("PRT002", "PRT003")
SHOWN = {"Stops or breaks": (STOPS, 6), "Gets slow": (SLOWS, 3)}


class Disagreement(NamedTuple):
    repository: str
    where: str
    number: str
    said: str
    counted: str


class Counted:
    """What the findings of a document add up to."""

    def __init__(self, document: Json):
        self.document = document
        findings = document["findings"]
        self.open = [f for f in findings if f["suppressed"] is None and not f["baseline"]]
        self.due = [f for f in self.open if not f["optional"]]
        self.manual = [f for f in self.due if f["status"] == "manual" and not f["code"].startswith("PRT0")]
        self.unread = [
            f for f in findings if f["code"] in UNREAD and f["suppressed"] is None and f["severity"] != "note"
        ]
        self.places = [  # as many rows as it has places
            f
            for f in findings
            if f["suppressed"] is None and f["severity"] != "note" and not f["code"].startswith("PRT0")
            if f["severity"] != "slow" or not f["code"].startswith("PRT6")
            for _ in places(f)
        ]

    def left(self, severities: tuple[str, ...]) -> int:
        return sum(len(places(f)) for f in self.manual if f["severity"] in severities)

    def with_status(self, status: str) -> list[Json]:
        return [f for f in self.due if f["status"] == status]

    def minutes(self, aside: bool) -> tuple[int, int]:
        key = "aside" if aside else "minutes"
        least, most = (sum(item[key][n] for item in self.document["effort"]["items"]) for n in (0, 1))
        return least, most

    def days(self, aside: bool = False) -> str:
        """`6 to 23`: to the nearest half of a day of eight hours, from ten on to the nearest day."""
        least, most = self.minutes(aside)
        numbers = []
        for minutes in (least, most):
            days = int(minutes / 240 + 0.5) / 2
            numbers.append(days if days < 10 else float(int(minutes / 480 + 0.5)))
        numbers[1] = max(numbers[1], 0.5) if most else 0
        return " to ".join(f"{n:g}" for n in dict.fromkeys(numbers) if n)

    def causes(self, what: str) -> int:
        items = self.document["effort"]["items"]
        return sum(item["what"] == what and bool(item["minutes"][1]) for item in items)


def places(finding: Json) -> list[str]:
    """The files of all its places: its own, further lines of its file, places in others."""
    values = finding["values"]
    lines = [line for line in values.get("also", "").split(", ") if line]
    elsewhere = [place for place in values.get("places", "").split(", ") if place]
    return [finding["path"]] * (1 + len(lines)) + [place.rpartition(":")[0] for place in elsewhere]


def sentence(counted: Counted) -> dict[str, str]:
    """The numbers of what is said of edits, places and effort, in the terminal and in Markdown alike."""
    automatic, review = counted.with_status("auto"), counted.with_status("review")
    manual = counted.manual
    aside = sum(is_aside(path) for f in manual if f["severity"] != "note" for path in places(f))
    return {
        r"([\d,]*\d) automatic": f"{len(automatic):,}",
        r"([\d,]*\d) for review": f"{len(review):,}",
        r"(?:automatic|review) in ([\d,]*\d) files?": f"{len({f['path'] for f in automatic or review}):,}",
        r"([\d,]*\d) places? where it stops": f"{counted.left(STOPS):,}",
        r"([\d,]*\d) (?:places? )?where it gets slow": f"{counted.left(SLOWS):,}",
        r"; ([\d,]*\d) of them in tests": f"{aside:,}",
        r"(?:up to )?([\d.]+(?: to [\d.]+)?) person-days?(?! more)": counted.days(),
        r"(?:up to )?([\d.]+(?: to [\d.]+)?) person-days? more": counted.days(aside=True),
        r"([\d,]*\d) kernels?[,;]": f"{counted.causes('kernel'):,}",
        r"([\d,]*\d) packages?[,;]": f"{counted.causes('package'):,}",
        r"([\d,]*\d) other causes?": f"{counted.causes('other'):,}",
    }


def terminal(text: str, counted: Counted) -> Iterator[tuple[str, str, str]]:
    document, summary = counted.document, counted.document["summary"]
    head, _, rest = text.rpartition("\nRoute ")
    last = " ".join(rest.split())
    if counted.document["findings"]:
        yield from looked_up(last, sentence(counted))
    notes = [f for f in counted.open if f["severity"] == "note"]
    files = {
        r"Files: (\d+) scanned": str(len(document["files"])),
        r"scanned, (\d+) parsed": str(sum(f["parsed"] for f in document["files"])),
        r"parsed, (\d+) with findings": str(len({f["path"] for f in counted.open})),
    }
    yield from looked_up(text, files)
    yield "suppressed", said(text, r"Suppressed in the source: (\d+)"), str(summary["suppressed"])
    yield "not analysed", said(last, r"([\d,]*\d) files? not analysed"), f"{len({f['path'] for f in counted.unread}):,}"
    yield "notes", said(last, r" Notes ([\d,]*\d)"), f"{len(notes):,}"
    yield "ways to be faster", said(last, r"of them ([\d,]*\d) ways?"), f"{sum(f['optional'] for f in notes):,}"
    for title, (severities, most) in SHOWN.items():
        part = re.search(rf"^{title}\n((?:  .*\n?)+)", head, re.M)
        if part is None:  # so few findings that each is shown by itself
            continue
        causes = [cause for cause in document["causes"] if cause["severity"] in severities]
        by_mark = {f["fingerprint"]: f for f in document["findings"]}
        counts = [sum(len(places(by_mark[mark])) for mark in cause["findings"]) for cause in causes]
        shown = [int(n) + 1 for n in re.findall(r"  \+ (\d+) places?\b", part[1])]
        yield f"{title}: places of causes", str(shown), str([n for n in counts[:most] if n > 1])
        yield f"{title}: causes more", said(part[1], r"\.\.\. (\d+) causes? more"), str(len(causes[most:]))
        yield f"{title}: places more", said(part[1], r"causes? more, ([\d,]*\d) places?"), f"{sum(counts[most:]):,}"


def page(text: str, counted: Counted) -> Iterator[tuple[str, str, str]]:
    tiles = {
        "left-stops": f"{counted.left(STOPS):,}",
        "left-slows": f"{counted.left(SLOWS):,}",
        "edits-auto": f"{len(counted.with_status('auto')):,}",
        "days": counted.days().replace(" to ", "–"),
    }
    if counted.places:
        states = {s: sum(f["status"] == s for f in counted.places) for s in STATUSES}
        tiles |= {f"count-{s}": f"{n:,}" for s, n in states.items()}
        tiles["percent"] = str(100 * states["auto"] // len(counted.places))
    for name, number in tiles.items():
        yield name, said(text, rf'id="{name}">\s*([\d,.–]+)'), number or "0"
    yield "for review", said(text, r"for review: ([\d,]*\d)"), f"{len(counted.with_status('review')):,}"


def markdown(text: str, counted: Counted) -> Iterator[tuple[str, str, str]]:
    rows = "\n".join(line for line in text.splitlines() if re.match(r"- \*\*(?:Edits|Left|Effort)", line))
    yield from looked_up(rows.replace("- **", ", "), sentence(counted))
    table = Counter((f["severity"], f["status"]) for f in counted.due)
    for severity in SEVERITIES:
        row = re.search(rf"^\| {severity} \| (.*) \|$", text, re.M)
        if row:
            cells = [table[severity, status] for status in STATUSES]
            yield f"table: {severity}", row[1], " | ".join(map(str, [*cells, sum(cells)]))
    if counted.places:
        auto = sum(f["status"] == "auto" for f in counted.places)
        yield "percent", said(text, r"Readiness\*\*: (\d+) %"), str(100 * auto // len(counted.places))
        yield "places", said(text, r"Of (\d+) CUDA-dependent places"), str(len(counted.places))


def looked_up(text: str, wanted: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for pattern, number in wanted.items():
        yield pattern, said(text, pattern), number or "0"


def said(text: str, pattern: str) -> str:
    """What is not said is none."""
    found = re.search(pattern, text)
    return found[1] if found else "0"


def inside(counted: Counted) -> Iterator[tuple[str, str, str]]:
    """The document against itself: its sums, and each finding that costs something in one item."""
    work, summary = counted.document["effort"], counted.document["summary"]
    yield "minutes", str(work["minutes"]), str([*counted.minutes(aside=False)])
    yield "minutes aside", str(work["aside"]["minutes"]), str([*counted.minutes(aside=True)])
    checks = [item["minutes"] for item in work["items"] if not item["findings"]]
    costs = [sum(pair[n] for pair in [f["minutes"] for f in counted.due] + checks) for n in (0, 1)]
    total = [sum(counted.minutes(aside)[n] for aside in (False, True)) for n in (0, 1)]
    yield "minutes of findings", str(costs), str(total)
    marks = Counter(mark for item in work["items"] for mark in item["findings"])
    costing = Counter(f["fingerprint"] for f in counted.due if f["minutes"][1])
    of_none = {f["fingerprint"] for f in counted.due if not f["minutes"][1]}
    yield "findings of items", str(len(marks - costing) - sum(mark in marks for mark in of_none)), "0"
    yield "findings of no item", str(len(costing - marks)), "0"
    yield "left", str([*summary["left"].values()][:2]), str([counted.left(STOPS), counted.left(SLOWS)])
    edits = [len(counted.with_status(status)) for status in ("auto", "review")]
    yield "edits", str([*summary["edits"].values()][:2]), str(edits)


def disagreements(repository: str, folder: Path) -> list[Disagreement]:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        outputs = [word for form in ("json", "html", "md") for word in ("--output", str(work / f"r.{form}"))]
        text = run(HERE.parent, folder, work, "analyze", *outputs).decode()
        counted = Counted(json.loads((work / "r.json").read_text("utf-8")))
        checks = {
            "terminal": terminal(text, counted),
            "html": page((work / "r.html").read_text("utf-8"), counted),
            "markdown": markdown((work / "r.md").read_text("utf-8"), counted),
            "json": inside(counted),
        }
        return [
            Disagreement(repository, where, number, told, wanted)
            for where, rows in checks.items()
            for number, told, wanted in rows
            if told != wanted
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX")
    args = parser.parse_args()
    found: list[Disagreement] = []
    for repository, commit, *_ in corpora.listed():
        if not re.search(args.only, repository):
            continue
        try:
            mine = disagreements(repository, corpora.checkout(repository, commit))
        except corpora.Missing as error:
            print(f"benchmarks: {error}", file=sys.stderr)
            return 2
        print(f"{repository}: {len(mine)} disagree", flush=True)
        found += mine
    for row in found:
        print("  ".join(row))
    print(f"{len(found)} disagree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
