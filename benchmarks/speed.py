"""How fast is porter? One run gives every number of the tables in docs/performance.md.

    python benchmarks/speed.py [--sample N] [--rounds N] [--write]
    python benchmarks/speed.py --dense [--only REGEX]    the repositories that are dense with CUDA, alone: see dense.py
    python benchmarks/speed.py --dense --against DIR     a gate: ends with 1 where the porter in DIR is faster, beyond a limit
    python benchmarks/speed.py --dense --against DIR --instructions      the same by what valgrind counts: an hour, without noise

CPU seconds, never the clock: other programs on the machine disturb them least. What is compared is measured in turn, in
one run; what is quoted are ratios, because seconds say more about the machine. Needs a network once, for the corpora.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks import corpora, dense, texts
from benchmarks.process import REPOSITORY, cost, medians, parse, porter
from benchmarks.tables import line, machine, table, write

ROUNDS = 3
WORKER = """
import sys
from porter.run.pool import _analyse, _initialise
from porter.analysis.session import open_session
from porter.run.run import analyse_file
from pathlib import Path
_initialise(Path(sys.argv[1]), open_session(), analyse_file)
_analyse(Path(sys.argv[2]).read_text().split("\\n"))
"""


class Row(NamedTuple):
    name: str
    files: int  # that pass the gate
    lines: int
    changed: int
    parse: float
    whole: float
    facts: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="only every Nth file, and nothing dense")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="the smallest counts")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--dense", action="store_true", help="only the repositories that are dense with CUDA")
    parser.add_argument("--against", type=Path, metavar="DIR", help="with --dense: another checkout of porter")
    parser.add_argument("--json", type=Path, metavar="FILE", help="with --dense: note there what was measured")
    parser.add_argument("--only", default="", metavar="REGEX", help="with --dense: these alone")
    parser.add_argument(
        "--instructions", action="store_true", help="with --against: count them; valgrind has to be there"
    )
    args = parser.parse_args()
    if args.instructions and not (args.against and shutil.which("valgrind")):
        parser.error("--instructions needs --against, and valgrind")
    if args.dense and (args.write or args.sample > 1):
        parser.error("--dense writes no table, and reads every file")
    if (args.against or args.only or args.json) and not args.dense:
        parser.error("--against, --only and --json are for --dense")
    if args.against and not (args.against / "porter" / "__main__.py").is_file():
        parser.error(f"no checkout of porter: {args.against}")  # an installed one would be measured in its place
    try:
        repositories = dense.fetch(args.only) if args.sample == 1 else {}
        plain = () if args.dense else corpora.CORPORA
        folders = {f"{c.name} {c.version}": corpora.fetch(c, corpora.directory()) for c in plain}
    except corpora.Missing as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        if args.instructions:
            return dense.counted(repositories, args.against, Path(temporary))
        if args.dense:
            return dense.main(repositories, args.against, args.rounds, Path(temporary), args.json)
        text = "\n".join(report(folders, repositories, args.sample, args.rounds, Path(temporary)))
    print(text)
    if args.write:
        write(REPOSITORY / "docs" / "performance.md", text, "speed")
    return 0


def report(
    folders: dict[str, Path], repositories: dict[str, Path], sample: int, rounds: int, work: Path
) -> Iterator[str]:
    option = (f" --sample {sample}" if sample > 1 else "") + (f" --rounds {rounds}" if rounds != ROUNDS else "")
    peaks = list(memory(folders, work))  # first: a child's peak is never below what its parent held when it started it
    yield f"`python benchmarks/speed.py{option} --write` wrote this ({machine()}). CPU time, measured in turn in one"
    yield "run on a machine that others used too: take ratios for good to about a tenth."
    yield ""
    yield "Whole analysis on one core, promises checked, against `libcst.parse_module` of the same files (those in which"
    yield "anything could concern porter); facts are what is gathered over all files of a project first."
    yield ""
    yield from table(("corpus", "files", "lines", "changed", "analysis / parse", "with facts", "lines per CPU second"))
    rows = [row for name, folder in folders.items() if (row := against_parse(name, folder, sample, rounds)).files]
    total = Row("**all**", *(sum(row[n] for row in rows) for n in range(1, 7)))
    for r in (*rows, total):
        ratio, full, speed = r.whole / r.parse, (r.whole + r.facts) / r.parse, r.lines / r.whole
        yield line(r.name, f"{r.files:,}", f"{r.lines:,}", r.changed, f"{ratio:.2f}", f"{full:.2f}", f"{speed:,.0f}")
    yield ""
    if repositories:
        yield "Repositories that are dense with CUDA, from start to end: whole processes of `porter analyze` over all kinds of"
        yield "files, facts included, without cached findings, against a bare parse of the Python files as above."
        yield ""
        yield from dense.today(repositories, rounds, work)
        yield ""
    yield "A process from start to end, without cached findings, against `python -c 'import libcst'`:"
    yield ""
    yield from start_up(work)
    yield ""
    yield from table(("", ""))
    yield from peaks
    yield values(folders, sample)
    yield shapes(folders, sample)
    yield calls(folders, sample)
    yield from linear(work)
    yield from again(max(folders.values(), key=lambda folder: sum(1 for _ in folder.rglob("*.py"))), work)


def against_parse(name: str, folder: Path, sample: int, rounds: int) -> Row:
    from porter.analysis.python import analyse
    from porter.analysis.session import open_session
    from porter.run.gather import gather
    from porter.run.run import tuned

    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.py"))
    began = time.process_time()
    facts = gather(folder, paths)
    gathering = (time.process_time() - began) / sample
    session = open_session(facts=facts)
    session.rules, session.catalogue  # noqa: B018  loaded once per process
    files = corpora.gated(folder, sample)
    bare, whole, changed = [], [], 0
    for _ in range(rounds):
        bare.append(parse(files))
        with tuned():
            gc.collect()
            began = time.process_time()
            changed = sum(bool(analyse(path, data, session).review) for path, data in files)
            whole.append(time.process_time() - began)
    lines = sum(data.count(b"\n") for _, data in files)
    return Row(name, len(files), lines, changed, min(bare), min(whole), gathering)


def start_up(work: Path, rounds: int = 15) -> Iterator[str]:
    from porter.analysis.python import analyse
    from porter.analysis.session import open_session

    folders = {}
    for name, text in (("plain", texts.PLAIN), ("model", texts.MODEL), ("train", texts.TRAIN.format(n=""))):
        folders[name] = work / name
        folders[name].mkdir()
        (folders[name] / "file.py").write_text(text)
        found = analyse("file.py", text.encode(), open_session()).findings
        assert bool(found) is (name == "train"), f"{name} is no longer what the table says: {found}"
    one = porter("analyze", "file.py", "--no-cache")
    commands = {
        "`python -c pass`": ([sys.executable, "-c", "pass"], work),
        "`import libcst`": ([sys.executable, "-c", "import libcst"], work),
        "`porter --version`": (porter("--version"), work),
        "`porter analyze` of one file without torch": (one, folders["plain"]),
        "... with torch and nothing to find": (one, folders["model"]),
        "... with edits": (one, folders["train"]),
    }
    found = medians(commands, work / "cache", rounds)
    yield from table(("process", "x `import libcst`"))
    for name, seconds in found.items():
        yield line(name, f"{seconds / found['`import libcst`']:.2f}")


def memory(folders: dict[str, Path], work: Path) -> Iterator[str]:
    top = Path(os.path.commonpath(folders.values()))
    have, chosen = 0, []
    for path in sorted(p for folder in folders.values() for p in folder.rglob("*.py")):
        if have < 100_000:
            have += path.read_bytes().count(b"\n")
            chosen.append(path.relative_to(top).as_posix())
    listed = work / "listed"
    listed.write_text("\n".join(chosen))
    many = cost([sys.executable, "-c", WORKER, str(top), str(listed)], work, work / "cache")
    yield line(
        f"peak memory of a worker after {len(chosen)} files of {have:,} lines together", f"{many.memory:.0f} MiB"
    )
    (work / "long.py").write_text(texts.long(100_000))
    listed.write_text("long.py")
    one = cost([sys.executable, "-c", WORKER, str(work), str(listed)], work, work / "cache")
    tree = cost([sys.executable, "-c", "import ast; ast.parse(open('long.py').read())"], work, work / "cache")
    size = f"{one.memory:,.0f} MiB, {tree.memory:,.0f} MiB of them for `ast.parse`"
    yield line("... and after one generated file of 100,000 lines", size)


def walked(folders: dict[str, Path], sample: int) -> Iterator[tuple]:
    """(name, bytes, the file, what the plain walk of its index costs) of what passes the gate."""
    from porter.analysis.file import File
    from porter.analysis.session import open_session
    from porter.errors import Unreadable
    from porter.python.source import Source

    session = open_session()
    for folder in folders.values():
        for name, data in corpora.gated(folder, sample):
            began = time.process_time()
            try:
                file = File(name, Source(data), session)
            except Unreadable:
                continue
            yield name, data, file, time.process_time() - began


def values(folders: dict[str, Path], sample: int) -> str:
    """What recognising fused operators costs: functions are read into values where a word asks for it."""
    from porter.run.run import tuned

    index, patterns = 0.0, 0.0
    with tuned():
        for _, _, file, cost_of_index in walked(folders, sample):
            began = time.process_time()
            file.patterns  # noqa: B018  the first look makes them
            index, patterns = index + cost_of_index, patterns + time.process_time() - began
    return line("recognising fused operators by values, against the plain walk of the index", f"{patterns / index:.2f}")


def shapes(folders: dict[str, Path], sample: int) -> str:
    """What following shapes costs: those functions are read into values, in the analysis, that make a shape from data."""
    from porter.analysis.python import analyse
    from porter.analysis.session import open_session
    from porter.run.run import tuned
    from porter.training import dynamic_sizes

    spent = [0.0]

    def timed(call):
        def run(*args):
            began = time.process_time()
            try:
                return call(*args)
            finally:
                spent[0] += time.process_time() - began

        return run

    session, index = open_session(), 0.0
    kept = dynamic_sizes.Body, dynamic_sizes._Follower.follow
    dynamic_sizes.Body, dynamic_sizes._Follower.follow = map(timed, kept)
    try:
        with tuned():
            for name, data, _, cost_of_index in walked(folders, sample):
                index += cost_of_index
                analyse(name, data, session)
    finally:
        dynamic_sizes.Body, dynamic_sizes._Follower.follow = kept
    return line("following shapes that depend on data, against the plain walk of the index", f"{spent[0] / index:.2f}")


def calls(folders: dict[str, Path], sample: int) -> str:
    """What it costs to find the functions that a step in another file calls: it is part of the facts of a project."""
    from porter.analysis.calls import calls as called
    from porter.python.kept import anew
    from porter.run.run import tuned
    from porter.training.calls.per_batch import served

    spent = 0.0
    with tuned():
        index = sample * sum(cost_of_index for *_, cost_of_index in walked(folders, sample))
        for folder in folders.values():
            texts = {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*.py"))}
            began = time.process_time()
            served(texts, anew, None, called)
            spent += time.process_time() - began
    return line("finding what a step calls in other files, against the plain walk of the index", f"{spent / index:.2f}")


def linear(work: Path) -> Iterator[str]:
    from porter.analysis.python import analyse
    from porter.analysis.session import open_session
    from porter.run.run import tuned

    session, per_line = open_session(), {}
    with tuned():
        for lines in (5_000, 10_000, 50_000):
            data, times = texts.long(lines).encode(), []
            for _ in range(3):
                began = time.process_time()
                assert analyse("long.py", data, session).auto
                times.append(time.process_time() - began)
            per_line[lines] = min(times) / data.count(b"\n")
    for lines in (10_000, 50_000):
        yield line(
            f"time per line, one file of {lines:,} lines against one of 5,000",
            f"{per_line[lines] / per_line[5_000]:.2f}",
        )


def again(folder: Path, work: Path) -> Iterator[str]:
    """The command over a whole package: its cache, and a second process."""
    tree = work / "tree"
    shutil.copytree(folder, tree)
    cold, warm, one, two = [], [], [], []
    for _ in range(2):
        shutil.rmtree(work / "fresh", ignore_errors=True)
        cold.append(cost(porter("analyze", ".", "-j", "1"), tree, work / "fresh").cpu)
        warm.append(cost(porter("analyze", ".", "-j", "1"), tree, work / "fresh").cpu)
        one.append(cost(porter("analyze", ".", "-j", "1", "--no-cache"), tree, work / "cache").wall)
        two.append(cost(porter("analyze", ".", "-j", "2", "--no-cache"), tree, work / "cache").wall)
    yield line(
        f"`porter analyze` of {folder.name} again, nothing changed: CPU against the first run",
        f"{min(warm) / min(cold):.2f}",
    )
    yield line("... with `-j 2` against `-j 1`, by the clock", f"{min(two) / min(one):.2f}")


if __name__ == "__main__":
    sys.exit(main())
