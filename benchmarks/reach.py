"""What third-party reach and the notes about sizes cost, apart from the plain walk over the same files.

    python benchmarks/reach.py [FOLDER ...]

FOLDER: a package; without one, those of the corpora. CPU seconds, the smaller of two rounds taken in turn: the walk that
every analysis makes; the walk with the call graph, which only `--library` makes; the walk with a fact file at hand.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks import corpora
from porter.analysis.python import analyse, look
from porter.analysis.session import open_session
from porter.engine.session import Session
from porter.errors import Unreadable
from porter.python.source import Source
from porter.reach.fact_file import make, render
from porter.reach.known import read
from porter.reach.library import Library
from porter.rulebook.gate import GATE

_SIZES = "PRT640"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", metavar="FOLDER", type=Path)
    try:
        folders = parser.parse_args().folders or [
            corpora.fetch(c, corpora.directory()) / c.name
            for c in corpora.CORPORA
            if c.name in ("diffusers", "accelerate")
        ]
    except corpora.Missing as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    print("| package | lines | walk of all modules | `--library` / walk | `--facts` / analysis | PRT640 / analysis |")
    print("|---|---:|---:|---:|---:|---:|")
    for folder in folders:
        print(_row(folder))
    return 0


def _row(folder: Path) -> str:
    library, session = Library(folder), open_session()
    files = {path: library.package.data(module) for module, path in sorted(library.package.files.items())}
    passed = {path: data for path, data in files.items() if GATE.search(data)}
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "facts.json"
        file.write_text(render(make(folder, session)))
        known = open_session(libraries=read([file], session.target))
    without = open_session()
    without.rules.keys  # noqa: B018  loaded, so that the first round does not pay for it
    ways: dict[str, Callable[[], None]] = {
        "walk": lambda: _look(files, session),
        "library": lambda: make(folder, session) and None,
        "plain": lambda: _analyse(passed, session),
        "facts": lambda: _analyse({f"user/{path}": data for path, data in passed.items()}, known),
        "unsized": lambda: _unsized(passed),
    }
    taken = {name: min(times) for name, times in _rounds(ways).items()}
    lines = sum(data.count(b"\n") for data in files.values())
    ratios = taken["library"] / taken["walk"], taken["facts"] / taken["plain"], taken["plain"] / taken["unsized"]
    return (
        f"| {library.package.name} {library.package.version} | {lines:,} | {taken['walk']:.1f} s | "
        + " | ".join(f"{r:.2f}" for r in ratios)
        + " |"
    )


def _rounds(ways: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(2):
        for name, way in ways.items():
            gc.collect()
            began = time.process_time()
            way()
            taken[name].append(time.process_time() - began)
    return taken


def _look(files: dict[str, bytes], session: Session) -> None:
    for path, data in files.items():
        try:
            look(path, Source(data), session)
        except (Unreadable, RecursionError):
            continue


def _analyse(files: dict[str, bytes], session: Session) -> None:
    for path, data in files.items():
        analyse(path, data, session)


def _unsized(files: dict[str, bytes]) -> None:
    """The same with all rules but the one about sizes."""
    from porter.checks.registry import Rules, load

    session, all_rules = open_session(), load()
    session.__dict__["rules"] = Rules(all_rules.tables, [rule for rule in all_rules.all if rule.code != _SIZES])
    _analyse(files, session)


if __name__ == "__main__":
    sys.exit(main())
