"""Sheets for people who judge a draw of fresh repositories, and their judgements into the ledgers.

    python benchmarks/draw.py sheets CHECKOUTS OUT [--style portable] [--edits 150] [--findings 40]
    python benchmarks/draw.py take OUT [--style portable]

CHECKOUTS has a folder for each repository, named as benchmarks/corpora.py names them: owner+name-first12ofcommit. `sheets` writes for
each of them a folder in OUT: the tree, its port (automatic edits, and with those for review), the diffs, the report, and `edits.jsonl` and
`findings.jsonl` with a row for each place to judge, whose verdict is empty. Of a repository with more, as many as asked are drawn, the same
each time. `take` refuses a row without a verdict, one that was not drawn and one that is missing; `misses.jsonl`, written by the reader
alone, goes along.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LEDGERS = ROOT / "benchmarks/ledgers"
VERDICTS = {"edits": ("right", "wrong", "doubtful"), "findings": ("useful", "useless", "false")}
Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("sheets", "take"))
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--style", default="rename", help="rename, portable or shim")
    parser.add_argument("--edits", type=int, default=150, metavar="N", help="automatic ones of a repository at most")
    parser.add_argument(
        "--findings", type=int, default=40, metavar="N", help="without an edit, of a repository at most"
    )
    asked = parser.parse_args()
    if asked.what == "take":
        return sum(take(folder, asked.style) for out in asked.folders for folder in untaken(out))
    checkouts, out = (folder.resolve() for folder in asked.folders)  # porter runs inside of each
    for checkout in sorted(folder for folder in checkouts.iterdir() if folder.is_dir()):
        print(sheets(checkout, out / checkout.name, asked), flush=True)
    return 0


def sheets(checkout: Path, out: Path, asked: argparse.Namespace) -> str:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    tree = out / "tree"
    shutil.copytree(checkout, tree, symlinks=True)
    with tempfile.TemporaryDirectory() as cache:
        report = out / "report.json"
        porter(cache, tree, "analyze", "-q", "--style", asked.style, "-o", str(report), "-o", str(out / "report.txt"))
        for name, words in (("port", ()), ("port_unsafe", ("--unsafe",))):
            diff = porter(cache, tree, "migrate", "--style", asked.style, *words)
            (out / f"{name}.diff").write_bytes(diff)
            porter(cache, tree, "migrate", "-q", "--style", asked.style, *words, "--out", str(out / name))
    found = [row for row in json.loads(report.read_text(encoding="utf-8"))["findings"] if counts(row)]
    name, _, commit = checkout.name.rpartition("-")
    chance = random.Random(name)  # the same places each time
    edits: list[Row] = []
    for status, most in (("auto", asked.edits), ("review", asked.edits // 2)):
        places = {(row["path"], row["line"], row["code"]): row for row in found if row["status"] == status}
        edits += drawn(chance, [edit_row(tree, row) for row in places.values()], most)
    told = {(row["path"], row["line"], row["code"]): row for row in found if row["status"] not in ("auto", "review")}
    findings = drawn(chance, [finding_row(tree, row) for row in told.values()], asked.findings)
    for kind, rows in (("edits", edits), ("findings", findings)):
        (out / f"{kind}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (out / "drawn.json").write_text(json.dumps({"edits": keys(edits), "findings": keys(findings)}), encoding="utf-8")
    (out / "of.json").write_text(json.dumps({"repository": name.replace("+", "/", 1), "commit": commit}))
    auto = sum(row["was"] == "auto" for row in edits)
    return f"{name} {auto} automatic, {len(edits) - auto} for review, {len(findings)} findings"


def porter(cache: str, tree: Path, command: str, *words: str) -> bytes:
    env = {"PYTHONPATH": str(ROOT), "PATH": "", "XDG_CACHE_HOME": cache, "NO_COLOR": "1", "COLUMNS": "160"}
    call = [sys.executable, "-m", "porter", command, ".", *words]
    return subprocess.run(call, cwd=tree, env=env, capture_output=True).stdout


def counts(row: Row) -> bool:
    return not (row["suppressed"] or row["optional"])


def edit_row(tree: Path, row: Row) -> Row:
    new = [f"{edit['line']}:{edit['column']} {edit['text']}" for edit in row["edit"] or []]
    return {**finding_row(tree, row), "was": row["status"], "edits": new[:6]}


def finding_row(tree: Path, row: Row) -> Row:
    lines = (tree / row["path"]).read_text(encoding="utf-8", errors="replace").split("\n")
    text = lines[row["line"] - 1].strip()[:160] if 0 < row["line"] <= len(lines) else ""
    place = f"{row['path']}:{row['line']}"
    return {"place": place, "code": row["code"], "line": text, "message": row["message"], "verdict": "", "note": ""}


def drawn(chance: random.Random, rows: list[Row], most: int) -> list[Row]:
    chosen = rows if len(rows) <= most else [rows[at] for at in sorted(chance.sample(range(len(rows)), most))]
    return sorted(chosen, key=lambda row: (row["place"].rpartition(":")[0], int(row["place"].rpartition(":")[2])))


def keys(rows: list[Row]) -> list[list[str]]:
    return sorted([row["place"], row["code"]] for row in rows)


def untaken(out: Path) -> list[Path]:
    return sorted(folder for folder in out.iterdir() if (folder / "of.json").exists())


def take(folder: Path, style: str) -> int:
    """What a reader wrote, into the ledgers; 1 if it does not fit what was drawn."""
    head = json.loads((folder / "of.json").read_text())
    head["commit"] = commit_of(head, folder)
    wanted = json.loads((folder / "drawn.json").read_text(encoding="utf-8"))
    ready: dict[str, list[Row]] = {}
    for kind, verdicts in VERDICTS.items():
        rows = read(folder / f"{kind}.jsonl")
        bad = [row for row in rows if row["verdict"] not in verdicts]
        if bad or keys(rows) != wanted[kind]:
            print(
                f"{folder.name}: {kind}: {len(bad)} without a verdict, or not the rows that were drawn", file=sys.stderr
            )
            return 1
        kept = ("place", "code", "was", "verdict")
        ready[kind] = [{name: row[name] for name in kept if name in row} | {"note": row["note"]} for row in rows]
    misses = read(folder / "misses.jsonl") if (folder / "misses.jsonl").exists() else []
    ready["misses"] = [{"place": row["place"], "told_now": False, "note": row["note"]} for row in misses]
    for kind, rows in ready.items():
        with (LEDGERS / f"{kind}.jsonl").open("a", encoding="utf-8") as ledger:
            for row in rows:
                ledger.write(json.dumps(head | styled(row, style), ensure_ascii=False) + "\n")
    (folder / "of.json").unlink()  # taken once
    print(f"{folder.name}: " + ", ".join(f"{len(rows)} {kind}" for kind, rows in ready.items()))
    return 0


def commit_of(head: Row, folder: Path) -> str:
    """The whole commit, by the list of the draws."""
    listed = (LEDGERS / "edits_fresh.txt").read_text(encoding="utf-8").splitlines()
    for name, _, commit in (line.partition(" ") for line in listed):
        if name == head["repository"] and commit.startswith(head["commit"]):
            return commit
    raise SystemExit(f"benchmarks: {folder.name} is in no list of ledgers/edits_fresh.txt")


def styled(row: Row, style: str) -> Row:
    """The ledgers hold the style before the note, and none for rename."""
    if style == "rename":
        return row
    note = row.pop("note")
    return row | {"style": style, "note": note}


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
