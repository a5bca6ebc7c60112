"""Does porter still say the same? Findings, reports and diffs of real checkouts, byte for byte.

    python benchmarks/same_bytes.py                  against the digests in same_bytes.txt
    python benchmarks/same_bytes.py --against DIR    against another checkout of porter: what to do before a commit that moves code
    python benchmarks/same_bytes.py --write          note the digests of today; say in the commit what has changed, and why

Each line of same_bytes.txt names a repository and a commit. They are cloned from GitHub into PORTER_CORPORA (or a folder of
the user's cache), once. Ends with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks import corpora

HERE = Path(__file__).resolve().parent
KINDS = ("json", "html", "diff", "unsafe")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", metavar="DIR", help="another checkout of porter")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--write", action="store_true", help="note today's digests")
    args = parser.parse_args()
    out, bad = [], 0
    for repository, commit, *known in corpora.listed():
        if not re.search(args.only, repository):
            out.append((repository, commit, *known))
            continue
        try:
            folder = corpora.checkout(repository, commit)
        except corpora.Missing as error:
            print(f"benchmarks: {error}", file=sys.stderr)
            return 2
        said = answers(folder, HERE.parent)
        before = answers(folder, Path(args.against)) if args.against else {}
        now = digests(said)
        wanted = digests(before) or dict(zip(KINDS, known))
        differ = [kind for kind in KINDS if now[kind] != wanted.get(kind)]
        bad += bool(differ)
        print(f"{repository}: {'differs in ' + ', '.join(differ) if differ else 'the same'}", flush=True)
        for line in told_apart(before, said) if differ and before else ():
            print(f"    {line}", flush=True)
        out.append((repository, commit, *now.values()))
    if args.write:
        corpora.COMMITS.write_text("".join(" ".join(row) + "\n" for row in out))
        return 0
    print(f"{bad} differ")
    return 1 if bad else 0


def answers(folder: Path, porter: Path) -> dict[str, bytes]:
    """What a checkout of porter says of a folder."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        run(porter, folder, work, "analyze", "-q", "--output", str(work / "r.json"), "--output", str(work / "r.html"))
        said = {"json": (work / "r.json").read_bytes(), "html": (work / "r.html").read_bytes()}
        said["diff"] = run(porter, folder, work, "migrate")
        said["unsafe"] = run(porter, folder, work, "migrate", "--unsafe")
    return said


def digests(said: dict[str, bytes]) -> dict[str, str]:
    return {kind: hashlib.sha256(data).hexdigest()[:16] for kind, data in said.items()}


def told_apart(before: dict[str, bytes], now: dict[str, bytes]) -> list[str]:
    """Each finding that one side alone has, in words or place: `- PRT101 auto train.py:12 ...`."""
    rows = [_findings(side["json"]) for side in (before, now)]
    return [
        f"{sign} {' '.join(row)}"
        for sign, only in (("-", rows[0] - rows[1]), ("+", rows[1] - rows[0]))
        for row in sorted(only.elements())
    ]


def _findings(report: bytes) -> Counter[tuple[str, ...]]:
    found = json.loads(report)["findings"]
    return Counter((f["code"], f["status"], f"{f['path']}:{f['line']}", f["message"][:90]) for f in found)


def run(porter: Path, folder: Path, work: Path, *words: str) -> bytes:
    env = os.environ | {"PYTHONPATH": str(porter), "XDG_CACHE_HOME": str(work / "cache"), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "porter", *words[:1], ".", *words[1:]]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True)
    if done.returncode not in (0, 1):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        print(f"{folder.name}: porter {words[0]} ends with {done.returncode}: {said}", file=sys.stderr)
    return done.stdout


def report(porter: Path, folder: Path, *options: str) -> dict[str, Any] | None:
    """The report of porter about a checkout; None where porter ends without one, which `run` tells."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        run(porter, folder, work, "analyze", "-q", *options, "--output", str(work / "r.json"))
        return json.loads((work / "r.json").read_bytes()) if (work / "r.json").exists() else None


if __name__ == "__main__":
    sys.exit(main())
