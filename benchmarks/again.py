"""What a project costs that porter has seen before: the same once more, one file of it changed, three files for a hook.

    python benchmarks/again.py [--only REGEX] [--rounds N] [--against DIR]

Whole processes of `porter analyze` with one job over the repositories that are dense with CUDA (dense.py), in CPU seconds, against the
first run. With another checkout of porter, in turn: this one against that one, step by step.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks import corpora, dense
from benchmarks.process import REPOSITORY, cost, porter
from benchmarks.tables import line, table

STEPS = ("first", "again", "one file changed", "three files of a hook")
HOOK = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="these repositories alone")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="the smallest counts")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout of porter")
    args = parser.parse_args()
    try:
        folders = dense.fetch(args.only)
    except corpora.Missing as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    checkouts = [REPOSITORY, *([args.against.resolve()] if args.against else [])]
    for text in table(("corpus", *(f"{step} / first" for step in STEPS[1:]), *(f"{s}, now / then" for s in STEPS))):
        print(text)
    for name, folder in folders.items():
        with tempfile.TemporaryDirectory() as work:
            tree = Path(work) / "tree"
            shutil.copytree(folder, tree, symlinks=True)
            sides = [[*zip(*rounds(checkout, tree, Path(work), args.rounds))] for checkout in checkouts]
        now, *then = [[min(times) for times in side] for side in sides]
        ratios = [f"{step / now[0]:.3f}" for step in now[1:]]
        print(line(name, *ratios, *(f"{a / b:.2f}" for other in then for a, b in zip(now, other))), flush=True)
    return 0


def rounds(checkout: Path, tree: Path, work: Path, many: int) -> Iterator[list[float]]:
    """The seconds of each step."""
    for _ in range(many):
        shutil.rmtree(work / "cache", ignore_errors=True)
        yield [*steps(checkout, tree, work)]


def steps(checkout: Path, tree: Path, work: Path) -> Iterator[float]:
    def analysis(*paths: str) -> float:
        command = porter("analyze", *(str(tree / path) for path in paths), "--jobs", "1")
        return cost(command, work, work / "cache", checkout=checkout).cpu

    files = sorted(p for p in tree.rglob("*.py") if p.is_file() and b"torch.cuda" in p.read_bytes())
    middle = len(files) // 2
    chosen = [file.relative_to(tree).as_posix() for file in files[middle : middle + HOOK]]
    analysis(*chosen)  # bytecode and compiled rules are there from now on
    for file in (work / "cache").glob("analyses*"):
        file.unlink()
    yield analysis(".")
    yield min(analysis(".") for _ in range(2))  # what was just written is known by its bytes once more
    kept = files[middle].read_bytes()
    try:
        files[middle].write_bytes(kept + b"\n# one line more\n")
        yield analysis(".")
        yield analysis(*chosen)
    finally:
        files[middle].write_bytes(kept)


if __name__ == "__main__":
    sys.exit(main())
