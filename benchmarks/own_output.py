"""Does porter find fault with its own work? A port, analysed again, has no harm that the original had not.

    python benchmarks/own_output.py                 over the repositories of same_bytes.txt
    python benchmarks/own_output.py FOLDER...       over these

The port is `migrate --unsafe --out`: places move, so that findings are counted by file and code; notes do not count. Ends
with 1 where a code has more findings in a file than before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks import corpora

PORTER = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--only", default="", metavar="REGEX")
    args = parser.parse_args()
    worse = 0
    for folder in args.folders or listed(args.only):
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            porter(folder, work, "migrate", "--unsafe", "--out", str(work / "port"))
            before, after = harms(folder, work), harms(work / "port", work)
        more = after - before
        worse += bool(more)
        print(f"{folder.name}: {before.total()} before, {after.total()} after, {more.total()} of them new", flush=True)
        for (path, code), count in sorted(more.items()):
            print(f"    {path} {code} {count}", flush=True)
    print(f"{worse} with a fault of porter's own")
    return 1 if worse else 0


def listed(only: str) -> Iterator[Path]:
    for repository, commit, *_ in corpora.listed():
        if re.search(only, repository):
            yield corpora.checkout(repository, commit)


def harms(folder: Path, work: Path) -> Counter[tuple[str, str]]:
    """Blockers, what would be wrong, and what would be slow."""
    report = work / "report.json"
    porter(folder, work, "analyze", "-q", "--output", str(report))
    found = json.loads(report.read_bytes())["findings"]
    return Counter((f["path"], f["code"]) for f in found if f["severity"] != "note" and not f.get("optional"))


def porter(folder: Path, work: Path, *words: str) -> None:
    env = os.environ | {"PYTHONPATH": str(PORTER), "PORTER_CACHE_DIR": str(work / "cache"), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "porter", words[0], ".", *words[1:]]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(
            f"benchmarks: {folder.name}: porter {words[0]} ends with {done.returncode}: {done.stderr.strip()}"
        )


if __name__ == "__main__":
    sys.exit(main())
