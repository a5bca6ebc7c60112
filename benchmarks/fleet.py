"""A fleet of real repositories: nothing lost, nothing done twice, each result as it is alone; and what it costs.

    python benchmarks/fleet.py FOLDER [--repositories 200] [--largest 60] [--jobs 2] [--sample 10] [--ray] [--kill] [--work DIR]

FOLDER holds git repositories, bare or not, as its children or as theirs (FOLDER/NAME/repo). The first so many by name that have
all of their last commit and at most so many megabytes are a list, and `porter fleet` works on it: with local processes, or with --ray on a cluster of
two nodes on this machine, one of which is killed when half is done. With --kill the local command itself is killed (SIGKILL)
when half is done, and called again. Checked are:

- there is a row for each, and each was made once;
- a second run makes none anew, and writes the same bytes;
- of a sample, findings.json and report.html have the SHA-256 of those that `porter analyze` writes of a clone.

It prints what it found, and ends with 1 where something of that does not hold.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks.process import REPOSITORY, porter

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
FILES = ("findings.json", "report.html")


def repositories(folder: Path, most: int, largest: int) -> list[Path]:
    """The first by name that are not too large, in the order of the list."""
    found = []
    for path in sorted((*folder.glob("*"), *folder.glob("*/repo"))):
        if (path / "HEAD").is_file() or (path / ".git").exists():
            size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            if size <= largest * 1_000_000 and is_whole(path):
                found.append(path)
        if len(found) == most:
            break
    return found


def is_whole(path: Path) -> bool:
    """Whether all that its last commit has is there: a partial clone has promises instead."""
    command = ["git", "-C", str(path), "rev-list", "--objects", "--missing=print", "--max-count=1", "HEAD"]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.returncode == 0 and not any(line.startswith("?") for line in done.stdout.splitlines())


def listed(paths: list[Path], file: Path) -> Path:
    """A line each: a working tree is cloned as a bare one is."""
    lines = (f"{path}{' revision=HEAD' if (path / '.git').exists() else ''} name={name_of(path)}" for path in paths)
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def name_of(path: Path) -> str:
    return path.parent.name if path.name == "repo" else path.name


class Ran(NamedTuple):
    events: list[dict[str, Any]]  # what it says of each repository
    seconds: float
    cpu: float  # seconds, of all its processes
    memory: float  # megabytes of the largest of them


def run(command: list[str], kill_after: int = 0, at_half: Any = None) -> Ran:
    """Killed after so many repositories, or something else is then."""
    began, events = time.perf_counter(), []
    child = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        event = json.loads(line)
        if event["event"] != "repository":
            continue
        events.append(event)
        if kill_after and len(events) == kill_after:
            if at_half is None:
                child.send_signal(signal.SIGKILL)
                break
            at_half()
    child.stdout.close()
    used = os.wait4(child.pid, 0)[2]
    return Ran(events, time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".porter-fleet")
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def alone(source: str, result: Path, work: Path) -> list[str]:
    """The files whose bytes differ from those of the repository by itself."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        clone = Path(folder, Path(source).name)
        subprocess.run(
            ["git", "clone", "-q", "--depth=1", f"file://{source}", str(clone)], check=True, capture_output=True
        )
        outputs = [word for name in FILES for word in ("-o", str(Path(folder, name)))]
        command = porter("analyze", str(clone), "-q", "--no-cache", "-j", "1", *outputs)
        subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=False)
        return [name for name in FILES if Path(folder, name).read_bytes() != (result / name).read_bytes()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repositories", type=int, default=200)
    parser.add_argument("--largest", type=int, default=60, help="megabytes of a repository")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, default=10)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.work) as folder:
        return measured(asked, Path(folder))


def measured(asked: argparse.Namespace, work: Path) -> int:
    paths, out = repositories(asked.folder, asked.repositories, asked.largest), work / "out"
    command = porter("fleet", str(listed(paths, work / "list.txt")), "-o", str(out), "--progress", "json")
    half, before, killer, cluster = len(paths) // 2, [], None, None
    if asked.ray:
        cluster, killer = started(asked.jobs)
        command += ["--ray", cluster.address]
    else:
        command += ["-j", str(asked.jobs)]
        if asked.kill:
            killed = run(command, half)
            before = killed.events
            print(f"killed after {len(before)} of {len(paths)}, {killed.seconds:.0f} s")
    try:
        first = run(command, half if killer else 0, killer)
        written, again = digests(out), run(command)
    finally:
        if cluster is not None:
            cluster.shutdown()
    events = first.events
    totals = json.loads((out / "fleet.json").read_bytes())["totals"]
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    states, kept_states = (dict(Counter(event["state"] for event in one.events)) for one in (first, again))
    print(f"{len(paths)} repositories, {totals['lines']:,} lines, {totals['files']:,} files, {size:,} bytes: {states}")
    print(
        f"{first.seconds:.0f} s, {first.cpu:.0f} s of CPU time, {asked.jobs} at a time; {first.memory:.0f} MB the largest process"
    )
    print(f"again: {again.seconds:.0f} s, {again.cpu:.0f} s of CPU time: {kept_states}")
    for event in events:
        if event["why"]:
            print(f"  {event['name']}: {event['why']['en']}")
    faults = []
    if sorted(event["id"] for event in events) != sorted({event["id"] for event in events}) or len(events) != len(
        paths
    ):
        faults.append("rows are lost, or there twice")
    kept = {event["id"] for event in before if event["state"] == "done"}
    if kept - {event["id"] for event in events if event["state"] == "kept"}:
        faults.append("what was whole was done again")
    if "done" in kept_states or digests(out) != written:
        faults.append("a second run made something anew, or other bytes")
    done = [event for event in events if event["state"] != "failed"]
    for event in random.Random(0).sample(done, min(asked.sample, len(done))):
        if different := alone(event["source"], out / "repositories" / event["id"], work):
            faults.append(f"{event['name']}: {', '.join(different)} differ from the run alone")
    print(f"alone: {min(asked.sample, len(done))} repositories compared")
    print("\n".join(faults) or "all holds")
    return 1 if faults else 0


def started(jobs: int) -> tuple[Any, Any]:
    """A cluster whose head works on nothing and whose two nodes do; and what kills one of these."""
    from ray.cluster_utils import Cluster

    os.environ.update(ENVIRONMENT, RAY_USAGE_STATS_ENABLED="0")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=max(1, jobs // 2)) for _ in range(2)]
    cluster.wait_for_nodes()
    return cluster, lambda: cluster.remove_node(nodes[1], allow_graceful=False)


if __name__ == "__main__":
    sys.exit(main())
