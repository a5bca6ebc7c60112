"""A fleet of real repositories: nothing lost, nothing there twice, each result as it is alone; and what it costs.

    python benchmarks/fleet.py FOLDER [--repositories 200] [--jobs 2] [--engines ray,alone,local,one] [--hostile] [--kill] [--work DIR]

FOLDER holds git repositories, bare or not, as FOLDER/OWNER+NAME or FOLDER/OWNER+NAME/repo. benchmarks/fleet.txt names them with
their commits, and the first so many of it that FOLDER has are a list for `porter fleet`. Engines, one after the other:

- ray: a cluster on this machine, whose head works on nothing and whose two nodes do; one is killed when half is done;
- local: so many processes at a time; with --kill the command itself is killed (SIGKILL) when half is done, and called again;
- one: one process at a time;
- alone: each repository is cloned and given to `porter analyze` by itself, so many at a time.

Checked are:

- there is a row for each and a result for each, none lost and none twice;
- a second run makes none anew, and writes the same bytes;
- all engines write the same bytes, the page and the tables included;
- of every repository, findings.json and report.html have the SHA-256 of those of the run alone.

With --hostile a list of entries that are broken or mean harm (benchmarks/fleet_hostile.py) is given to the engines first: one row with its
reason each. What --work DIR has already is not done again, so that a run that was ended goes on. It prints what it found, and ends with 1 where
something of that does not hold. `--draw N` writes the list instead: the first N by name that have all of their last commit and at most 60 MB.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks.fleet_hostile import faults_of_hostile
from benchmarks.process import REPOSITORY, cost, porter

# of a cluster, too: its nodes ask the index of their own environment. Nothing here is fetched from another machine
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PIP_INDEX_URL": "http://127.0.0.1:1/simple"}
FILES = ("findings.json", "report.html")
LIST = Path(__file__).with_suffix(".txt")
LARGEST = 60_000_000  # bytes of a repository that is drawn
QUIET: dict[str, Any] = {"check": True, "capture_output": True}
ANALYSED = frozenset({0, 1, 123})  # 123: of some files that is said why they could not be read
ENGINES = ("ray", "alone", "local", "one")


class Repository(NamedTuple):
    name: str  # OWNER+NAME
    commit: str
    path: Path


def is_whole(path: Path, commit: str) -> bool:
    """Whether all that a commit has is there: a partial clone has promises instead."""
    command = ["git", "-C", str(path), "rev-list", "--objects", "--missing=print", "--max-count=1", commit]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.returncode == 0 and not any(line.startswith("?") for line in done.stdout.splitlines())


def drawn(folder: Path, most: int) -> list[Repository]:
    found: list[Repository] = []
    for child in sorted(folder.iterdir()):
        path = child / "repo" if (child / "repo").is_dir() else child
        if not (path / "HEAD").is_file() and not (path / ".git").exists() or len(found) == most:
            continue
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        if size <= LARGEST and is_whole(path, "HEAD"):
            head = subprocess.run(
                ["git", "-C", str(path), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
            )
            found.append(Repository(child.name, head.stdout.strip(), path))
    return found


def listed(folder: Path, most: int) -> list[Repository]:
    """Those of the list that are in the folder."""
    found = []
    for line in LIST.read_text("utf-8").splitlines():
        name, commit = line.replace("/", "+").split()
        paths = [path for path in (folder / name / "repo", folder / name) if path.is_dir()]
        if paths and is_whole(paths[0], commit):
            found.append(Repository(name, commit, paths[0]))
        else:
            print(f"{name}: {folder} does not have its commit {commit}")
    return found[:most]


class Ran(NamedTuple):
    events: list[dict[str, Any]]  # what it says of each repository
    half: float  # seconds until half of them were there
    seconds: float
    cpu: float  # seconds, of its own processes: those of a cluster are not
    memory: float  # megabytes of the largest of them

    def states(self) -> dict[str, int]:
        return dict(Counter(event["state"] for event in self.events))


def run(command: list[str], half: int, at_half: Callable[[subprocess.Popen[str]], object] = lambda child: None) -> Ran:
    began, events, seconds = time.perf_counter(), [], 0.0
    child = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        event = json.loads(line)
        if event["event"] != "repository":
            continue
        events.append(event)
        if len(events) == half:
            seconds = time.perf_counter() - began
            at_half(child)
    child.stdout.close()
    used = os.wait4(child.pid, 0)[2]
    return Ran(events, seconds, time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".porter-fleet")
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Alone(NamedTuple):
    digests: dict[str, str]
    cpu: float


def alone(repository: Repository, work: Path) -> Alone:
    """A clone as a user makes it, and a process that analyses it and nothing else."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        clone = Path(folder, repository.path.name.removesuffix(".git"))
        subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repository.path}", str(clone)], **QUIET)
        for words in (["fetch", "-q", "--depth=1", "origin", repository.commit], ["checkout", "-q", repository.commit]):
            subprocess.run(["git", "-C", str(clone), *words], **QUIET)
        outputs = [word for name in FILES for word in ("-o", str(Path(folder, name)))]
        used = cost(porter("analyze", str(clone), "-q", "-j", "1", *outputs), clone, work / "cache", ANALYSED)
        return Alone({name: hashlib.sha256(Path(folder, name).read_bytes()).hexdigest() for name in FILES}, used.cpu)


class Gate:
    def __init__(self, repositories: list[Repository], jobs: int, work: Path, is_killed: bool) -> None:
        self.repositories, self.jobs, self.work, self.is_killed = repositories, jobs, work, is_killed
        self.list = work / "list.txt"
        lines = (f"{one.path} revision={one.commit} name={one.name}\n" for one in repositories)
        self.list.write_text("".join(lines), "utf-8")
        self.faults: list[str] = []
        self.written: dict[str, dict[str, str]] = {}  # of each engine
        self.by_itself: dict[str, Alone] = {}
        self.lines = 0

    def command(self, engine: str, address: str) -> list[str]:
        words = {"ray": ("--ray", address), "local": ("-j", str(self.jobs)), "one": ("-j", "1")}[engine]
        return porter("fleet", str(self.list), "-o", str(self.work / engine), "--progress", "json", *words)

    def engine(self, engine: str, address: str, kill: Callable[[], None]) -> None:
        command, half, before = self.command(engine, address), len(self.repositories) // 2, []
        if engine == "ray":
            first = run(command, half, lambda child: kill())
        elif engine == "local" and self.is_killed:
            killed = run(command, half, lambda child: child.send_signal(signal.SIGKILL))
            before, first = killed.events, run(command, half)
            print(f"local: killed after {half}, {killed.seconds:.0f} s")
        else:
            first = run(command, half)
        written = self.written[engine] = digests(self.work / engine)
        again = run(command, half)
        self._tell(engine, first, again)
        self._check(engine, first, before)
        if "done" in again.states() or digests(self.work / engine) != written:
            self.faults.append(f"{engine}: a second run made something anew, or other bytes")

    def _tell(self, engine: str, first: Ran, again: Ran) -> None:
        totals = json.loads((self.work / engine / "fleet.json").read_bytes())["totals"]
        size = sum(file.stat().st_size for file in (self.work / engine).rglob("*") if file.is_file())
        self.lines = totals["lines"]
        print(
            f"{engine}: {totals['repositories']} rows, {self.lines:,} lines, {totals['files']:,} files, {size:,} bytes: {first.states()}"
        )
        print(f"  {first.half:.0f} s until half, {first.seconds:.0f} s all: {self.lines / first.seconds:,.0f} lines a second, "
              f"{60 * len(first.events) / first.seconds:.1f} repositories a minute; {first.cpu:.0f} s of CPU time, {first.memory:.0f} MB")  # fmt: skip
        print(f"  again: {again.seconds:.0f} s, {again.cpu:.0f} s of CPU time: {again.states()}")
        for event in first.events:
            if event["why"]:
                print(f"  {event['name']}: {event['why']['en']}")
        sys.stdout.flush()

    def _check(self, engine: str, first: Ran, before: list[dict[str, Any]]) -> None:
        names = sorted(one.name for one in self.repositories)
        rows = self._rows(engine)
        made = os.listdir(self.work / engine / "repositories")
        if sorted(event["name"] for event in first.events) != names or sorted(row["name"] for row in rows) != names:
            self.faults.append(f"{engine}: rows are lost, or there twice")
        if sorted(made) != sorted(row["id"] for row in rows):
            self.faults.append(f"{engine}: {len(made)} results, {len(rows)} rows")
        kept = {event["id"] for event in before if event["state"] == "done"}
        if kept - {event["id"] for event in first.events if event["state"] == "kept"}:
            self.faults.append(f"{engine}: what was whole was done again")

    def alone(self) -> None:
        """The pool that a user makes of `porter analyze`: one process for each repository."""
        file, began = self.work / "alone.jsonl", time.perf_counter()
        for line in file.read_text("utf-8").splitlines() if file.exists() else ():
            name, *rest = json.loads(line)
            self.by_itself[name] = Alone(*rest)
        missing = [one for one in self.repositories if one.name not in self.by_itself]
        with ThreadPoolExecutor(self.jobs) as pool, file.open("a", encoding="utf-8") as stream:
            for one, result in zip(missing, pool.map(lambda one: alone(one, self.work), missing)):
                self.by_itself[one.name] = result
                print(json.dumps([one.name, *result]), file=stream, flush=True)
        seconds, cpu = time.perf_counter() - began, sum(one.cpu for one in self.by_itself.values())
        print(
            f"alone: {len(missing)} repositories, {seconds:.0f} s; {cpu:.0f} s of CPU time of porter analyze",
            flush=True,
        )

    def compare(self, engine: str) -> None:
        rows, written = self._rows(engine), self.written[engine]
        different = [
            f"{row['name']} {name}"
            for row in rows
            for name in FILES
            if written.get(f"repositories/{row['id']}/{name}") != self.by_itself[row["name"]].digests[name]
        ]
        files = len(FILES) * len(rows)
        print(f"{engine}: {files - len(different)} of {files} files have the SHA-256 of the run alone", flush=True)
        self.faults += [f"{engine}: {one} differs from the run alone" for one in different]
        if written != next(iter(self.written.values())):
            self.faults.append(f"{engine}: other bytes than those of the first engine")

    def _rows(self, engine: str) -> list[dict[str, Any]]:
        return json.loads((self.work / engine / "fleet.json").read_bytes())["repositories"]


def started(jobs: int) -> tuple[Any, Callable[[], None]]:
    """A cluster whose head works on nothing and whose two nodes do; and what kills one of these."""
    from ray.cluster_utils import Cluster

    os.environ.update(ENVIRONMENT, RAY_USAGE_STATS_ENABLED="0")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=max(1, jobs // 2)) for _ in range(2)]
    cluster.wait_for_nodes()
    return cluster, lambda: cluster.remove_node(nodes[1], allow_graceful=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repositories", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engines", type=lambda text: text.split(","), default=list(ENGINES))
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--work", type=Path, help="a folder that is made and stays")
    parser.add_argument("--draw", type=int)
    asked = parser.parse_args()
    if asked.draw:
        rows = (f"{one.name.replace('+', '/', 1)} {one.commit}\n" for one in drawn(asked.folder, asked.draw))
        LIST.write_text("".join(rows), "utf-8")
        return 0
    if asked.work:
        asked.work.mkdir(parents=True, exist_ok=True)
        return measured(asked, asked.work)
    with tempfile.TemporaryDirectory() as folder:
        return measured(asked, Path(folder))


def measured(asked: argparse.Namespace, work: Path) -> int:
    gate = Gate(listed(asked.folder, asked.repositories), asked.jobs, work, asked.kill)
    cluster, kill = started(asked.jobs) if "ray" in asked.engines else (None, lambda: None)
    address = cluster.address if cluster else ""
    try:
        if asked.hostile:
            engines = [("--ray", address)] if cluster else []
            gate.faults += faults_of_hostile(work / "hostile", [*engines, ("-j", str(asked.jobs))], ENVIRONMENT)
        for engine in asked.engines:
            if engine == "alone":
                gate.alone()
                continue
            gate.engine(engine, address, kill)
            if engine == "ray":
                cluster.shutdown()
    finally:
        if cluster:
            cluster.shutdown()
    for engine in gate.written if gate.by_itself else ():
        gate.compare(engine)
    print("\n".join(gate.faults) or "all holds")
    return 1 if gate.faults else 0


if __name__ == "__main__":
    sys.exit(main())
