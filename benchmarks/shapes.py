"""Which edits to read first: those whose shape hardly any other repository has.

    python benchmarks/shapes.py CHECKOUTS [--most 1] [--rows 700] [--seed 1]

CHECKOUTS/* are checkouts of repositories, which are analysed. Most of a port is what a thousand ports have: `.cuda()`, one comparison, one
backend. A wrong edit is seldom among these, as somebody would have seen it. The shape of an edit is its code and its line with all names,
numbers and texts that do not speak of devices made equal; of each shape that at most `--most` repositories have, one place is printed.
Its shares of wrong ones say nothing of all edits: they are drawn from where the wrong ones are.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SPEAKS = re.compile(
    r"(?i)cuda|npu|nccl|hccl|gpu|device|amp|backend|is_available|^to$|torch|tensor|map_location|accelerator|dist|visible"
    r"|type|half|autocast|pin"
)
WORDS = frozenset("if else elif not in and or is None True False import from return for def with lambda as".split())
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+\.?\d*|'[^']*'|\"[^\"]*\"|\S")
LONG = 40  # characters: what is longer is a text, and no name
EACH = 70  # rows of one code at most
OF_ONE = 60  # and of one repository


class Edit(NamedTuple):
    repository: str
    path: str
    line: int
    code: str
    status: str
    text: str
    new: str

    @property
    def shape(self) -> tuple[str, str]:
        return self.code, shape(self.text)


def shape(line: str) -> str:
    words = []
    for token in TOKEN.findall(line):
        kind = "x" if token[0].isalpha() or token[0] == "_" else "S" if token[0] in "'\"" else ""
        if token[0].isdigit():
            words.append("0")
        else:
            known = not kind or token in WORDS or (len(token) < LONG and SPEAKS.search(token))
            words.append(token if known else kind)
    return re.sub(r"\bx(?: [.,] x\b)+", "x", " ".join(words))


def edits(tree: Path, scratch: Path) -> list[Edit]:
    report = scratch / f"{tree.name}.json"
    subprocess.run(
        [sys.executable, "-m", "porter", "analyze", tree, "--no-cache", "-q", "--output", report],
        env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True,
    )  # fmt: skip
    found: dict[tuple[str, int, str], Edit] = {}
    for row in json.loads(report.read_text(encoding="utf-8"))["findings"]:
        if row["status"] in ("auto", "review") and not (row["suppressed"] or row["optional"]):
            lines = (tree / row["path"]).read_text(encoding="utf-8", errors="replace").split("\n")
            text = lines[row["line"] - 1].strip() if 0 < row["line"] <= len(lines) else ""
            new = " | ".join(edit["text"] for edit in row["edit"] or [])
            place = (row["path"], row["line"], row["code"])
            found.setdefault(place, Edit(tree.name, *place, row["status"], text, new))
    return list(found.values())


def rare(everything: list[Edit], most: int, rows: int, draw: random.Random) -> list[Edit]:
    having: dict[tuple[str, str], list[Edit]] = defaultdict(list)
    for edit in everything:
        having[edit.shape].append(edit)
    shapes = sorted(one for one, places in having.items() if len({edit.repository for edit in places}) <= most)
    draw.shuffle(shapes)
    chosen: list[Edit] = []
    codes, repositories = Counter[str](), Counter[str]()
    for one in shapes:
        edit = draw.choice(having[one])
        if len(chosen) < rows and codes[edit.code] < EACH and repositories[edit.repository] < OF_ONE:
            codes[edit.code] += 1
            repositories[edit.repository] += 1
            chosen.append(edit)
    return sorted(chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--most", type=int, default=1, help="how many repositories may have a shape")
    parser.add_argument("--rows", type=int, default=700)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trees = sorted(tree for tree in asked.checkouts.iterdir() if tree.is_dir())
        everything = [edit for tree in trees for edit in edits(tree, Path(scratch))]
    for edit in rare(everything, asked.most, asked.rows, random.Random(asked.seed)):
        print(f"{edit.repository} {edit.path}:{edit.line} {edit.code} {edit.status}")
        print(f"    - {edit.text[:200]}\n    + {edit.new[:200]}")
    print(f"{len(everything)} edits of {len(trees)} repositories, {len({e.shape for e in everything})} shapes")


if __name__ == "__main__":
    main()
