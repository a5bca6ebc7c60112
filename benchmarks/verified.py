"""Runs `porter verify` on the scripts of ledgers/verified.jsonl of which checkouts are at hand, and says whether the
verdicts are those of the ledger.

    python benchmarks/verified.py CHECKOUTS --python PYTHON [--only REGEX]      # CHECKOUTS/owner+name, with .git
    python benchmarks/verified.py --count                                      # the table, from the ledger alone

PYTHON has the packages that the scripts import; the virtual NPU is set up for it. What a script is given (given.py) is put
into a copy; `packages` of a row are versions that its script was written for, put in front of PYTHON's own for this run alone.
A row with `screen` opens windows: xvfb-run, of Debian's xvfb, is asked for a virtual screen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEDGER = HERE / "ledgers/verified.jsonl"
ROOT = str(HERE.parent)
PASSED = ("equal", "close", "smoke")
sys.path[:0] = [ROOT]

from benchmarks.tables import line, table


def rows() -> list[dict]:
    return [json.loads(text) for text in LEDGER.read_text(encoding="utf-8").splitlines()]


def installed(packages: list[str], python: str, folder: Path) -> Path:
    """A folder with these versions alone, that is not made twice."""
    place = folder / hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    if not place.exists():
        made = place.with_suffix(".part")
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--target", made, *packages], check=True)
        made.rename(place)
    return place


def clone(row: dict, checkouts: Path, python: str, tree: Path, env: dict[str, str] | None = None) -> None:
    """The repository as the ledger names it, with what the script is given. CHECKOUTS/owner+name is a clone, or has one in `repo`."""
    place = checkouts / row["repository"].replace("/", "+")
    source = place / "repo" if (place / "repo").is_dir() else place
    subprocess.run(["git", "clone", "-q", "--no-checkout", source, tree], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["git", "-C", tree, "checkout", "-qf", row["commit"]], stderr=subprocess.DEVNULL)  # large files lack
    for path, kind in row.get("given", {}).items():
        subprocess.run([python, HERE / "given.py", kind, path], cwd=tree / row["folder"], env=env, check=True)


def run(row: dict, checkouts: Path, python: str, scratch: Path, kept: Path | None = None) -> dict:
    """What verify says: verdict, culprit, and where and by what the leg that counts stopped."""
    tree = scratch / row["repository"].rpartition("/")[2]
    env = {**os.environ, **row.get("environment", {})}
    if row.get("packages"):
        beside = installed(row["packages"], python, kept or scratch)
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), str(beside)]))
    clone(row, checkouts, python, tree, env)
    folder = tree / row["folder"]
    output = scratch / "verify.json"
    command = [
        sys.executable,
        "-m",
        "porter",
        "verify",
        "--python",
        python,
        "--output",
        output,
        *row.get("options", []),
    ]
    # what the script is given goes where porter itself goes, too; PYTHONPATH is the script's
    there = f"import runpy, sys; sys.path[0] = {ROOT!r}; runpy.run_module('porter', run_name='__main__')"
    command[1:3] = ["-c", there]
    if row.get("screen"):  # a virtual one, for scripts that open windows
        command[:0] = ["xvfb-run", "-a"]
    done = subprocess.run([*command, "--", *row["command"]], cwd=folder, env=env, capture_output=True, text=True)
    (scratch / "said.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    if not output.exists():
        return {"exit": done.returncode, "verdict": "refused", "what": done.stderr.strip().splitlines()[-1]}
    return said(json.loads(output.read_text(encoding="utf-8")), done.returncode)


def said(result: dict, code: int) -> dict:
    found = {"exit": code, "verdict": result["verdict"]}
    if result["culprit"]:
        found["culprit"] = result["culprit"]["name"]
        leg = result["original"] if result["verdict"] == "original" else result["ported"]
        if leg["errors"]:
            error = leg["errors"][0]
            found |= {"where": error["where"], "what": f"{error['type']}: {error['text'].partition(chr(10))[0][:160]}"}
    found["steps"] = result["ported"]["steps"]
    return found


def count() -> None:
    columns = ("scripts", "in all", "verified at first", "now", "once mended", "verdict right at first", "now")
    for text in table(columns):
        print(text)
    everything = rows()
    kinds = {"plain": [r for r in everything if r["trainer"] == "plain"]}
    kinds["trainers"] = [r for r in everything if r["trainer"] != "plain"]
    for name, chosen in {**kinds, "all": everything}.items():
        first, now = (sum(r[when]["exit"] == 0 for r in chosen) for when in ("first", "now"))
        mended = sum(r["now"]["exit"] == 0 or r.get("flip", {}).get("verdict") in PASSED for r in chosen)
        right = (sum(r[when] for r in chosen) for when in ("right_at_first", "right_now"))
        print(line(name, len(chosen), first, now, mended, *right))
    named = Counter(row["now"].get("culprit", row["now"]["verdict"]) for row in everything if row["now"]["exit"])
    print("named now:", ", ".join(f"{name} {number}" for name, number in sorted(named.items())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="?", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path, help="where what was said is left")
    parser.add_argument("--packages", type=Path, help="where the packages of rows are kept; else they go with the run")
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    if options.count or not options.checkouts:
        count()
        return 0
    differ = 0
    for row in rows():
        name = f"{row['repository']} {row['folder']} {row['script']}"
        if not re.search(options.only, name) or not (options.checkouts / row["repository"].replace("/", "+")).is_dir():
            continue
        with tempfile.TemporaryDirectory() as scratch:
            found = run(row, options.checkouts, options.python, Path(scratch), options.packages)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                kept = options.keep / re.sub(r"\W+", "-", name)
                for file in ("verify.json", "said.txt"):
                    if (Path(scratch) / file).exists():
                        shutil.copy(Path(scratch) / file, f"{kept}.{file}")
        expected = row.get("now", {})
        same = all(expected.get(key) == found.get(key) for key in ("verdict", "culprit"))
        differ += not same
        print("as in the ledger" if same else "DIFFERS", name, json.dumps(found, ensure_ascii=False), flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
