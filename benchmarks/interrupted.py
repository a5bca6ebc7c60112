"""What remains of a tree when porter is killed while it writes.

    python benchmarks/interrupted.py [--rounds 200] [--files 500] [--only out inplace undo] [--seed N] [--folder DIR]

Each round makes `porter migrate --out`, `porter migrate --inplace` or `porter undo` write a tree of files that all need
edits, ends it at a random point of its writing by SIGKILL, SIGTERM or SIGINT, and then does what a user may do: edits
files, deletes some, adds others, puts folders and links in their place. Checked are what everything rests on:

- every file is old or new, whole, right after the kill;
- the next writing command makes the tree all old or all new;
- what the user did is still there, or porter refuses and names it;
- no temporary file is left.

It prints what was done and found, the seed first, and ends with 1 where something of that did not hold.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks.process import REPOSITORY, porter
from porter.files.record import RECORD

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
COMMANDS = ("out", "inplace", "undo")
FOLDERS = 10
SOURCE = """\
import torch

NUMBER = {n}


def main(batch):
    torch.cuda.synchronize()
    x = torch.zeros({n} + 1, device="cuda")
    return batch.cuda(), x
"""
BATCH = "class Batch:\n    def cuda(self):\n        return self\n"  # whose method may be meant: an edit to review
MINE = b"# mine\n"
Contents = dict[str, bytes]


@dataclass
class World:
    """A folder with all that porter may touch, and dice."""

    folder: Path
    dice: random.Random
    seconds: dict[str, float] = field(default_factory=dict)  # that a command writes, as far as is known
    counts: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def start(self, *words: str) -> subprocess.Popen:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PORTER_", "XDG_", "GIT_"))}
        home = {"HOME": str(self.folder / "home"), "PORTER_CACHE_DIR": str(self.folder / "cache")}
        home |= {"XDG_STATE_HOME": str(self.folder / "state"), "PYTHONPATH": str(REPOSITORY), "PYTHONHASHSEED": "0"}
        return subprocess.Popen(
            porter(*words), cwd=self.folder, env=kept | home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def run(self, *words: str) -> tuple[int, str]:
        process = self.start(*words)
        said = process.communicate()[1].decode(errors="replace")
        return process.returncode, said

    def kill(self, name: str, watched: Sequence[Path], *words: str) -> bool:
        """Run a command and end it while it writes below the folders. Whether it was still running."""
        before = _times(watched)
        process = self.start(*words)
        while process.poll() is None and _times(watched) == before:
            time.sleep(0.0005)
        began = time.perf_counter()
        known = self.seconds.get(name)
        sign = self.dice.choice(SIGNALS)
        if known is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(self.dice.uniform(0, known * 1.05))
            process.send_signal(sign)
        process.communicate()
        took = time.perf_counter() - began
        ended = process.returncode in (0, 1, 2)
        if ended:  # as fast as the machine is now
            self.seconds[name] = took if known is None else (known + took) / 2
        self.counts[name, "too late" if ended else sign.name] += 1
        return not ended

    def check(self, holds: object, what: str) -> None:
        if not holds:
            self.wrong.append(what)
            print(f"VIOLATION: {what}", file=sys.stderr)


def _times(folders: Sequence[Path]) -> list[int]:
    found = []
    for folder in folders:
        try:
            found.append(os.stat(folder).st_mtime_ns)
        except OSError:
            found.append(0)
    return found


def _watched(tree: Path) -> list[Path]:
    journal = [tree / ".porter", tree / ".porter/runs"]
    return [tree, *journal, *(tree / f"d{number}" for number in range(FOLDERS))]


def contents(tree: Path) -> Contents:
    """By path, links by what they hold; porter's own folder aside."""
    found = {}
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name != ".porter"]
        for name in (*names, *(n for n in folders if os.path.islink(os.path.join(folder, n)))):
            file = os.path.join(folder, name)
            data = os.readlink(file).encode() if os.path.islink(file) else Path(file).read_bytes()
            found[os.path.relpath(file, tree).replace(os.sep, "/")] = data
    return found


def write(tree: Path, files: Mapping[str, bytes]) -> Path:
    for number in range(FOLDERS):
        (tree / f"d{number}").mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        (tree / path).write_bytes(data)
    return tree


def _strays(found: Mapping[str, bytes], known: Sequence[str]) -> set[str]:
    return {path for path in found if path not in known and path.rpartition("/")[2] != RECORD}


# --- a copy


def copies(world: World, old: Contents, ports: Sequence[Contents]) -> None:
    tree, out = world.folder / "tree", world.folder / "out"
    if world.dice.random() < 0.3:
        shutil.rmtree(out, ignore_errors=True)
    before = contents(out) if out.exists() else {}
    unsafe = before.items() >= ports[0].items()  # so that old and new differ
    world.kill("out", _watched(out), "migrate", "tree", "--out", "out", "--quiet", *["--unsafe"] * unsafe)
    now = contents(out) if out.exists() else {}
    new = ports[unsafe]
    for path, data in now.items():
        if path in new:
            world.check(data in (before.get(path), new[path]), f"out: {path} is half written")
    for path in before.keys() & new.keys():
        world.check(path in now, f"out: {path} is gone")
    world.counts["out", "in the middle"] += len({now.get(path) == new[path] for path in new}) == 2
    mine, added = {}, {}
    if out.exists():
        mine, added = _meddle(world, out, sorted(now.keys() & new.keys()))
    unsafe = world.dice.random() < 0.5
    for _ in range(len(mine) + 1):
        held = {**contents(out), **added} if out.exists() else {}
        code, said = world.run("migrate", "tree", "--out", "out", "--quiet", *["--unsafe"] * unsafe)
        now = contents(out)
        for path in (*mine, *added):
            world.check({**mine, **added}[path] == _at(out, path), f"out: {path} was the user's")
        if not mine:
            break
        named = next((path for path in mine if f"out/{path}:" in said), None)
        world.check(code == 2 and named is not None, f"out: {sorted(mine)} not named with exit code {code}: {said}")
        quiet = {path: data for path, data in held.items() if path in new}
        world.check(quiet.items() <= now.items(), "out: a refused run changed the copy")
        if named is None:
            break
        world.counts["out", "refused for an edit"] += 1
        there = out / named
        shutil.rmtree(there) if there.is_dir() and not there.is_symlink() else there.unlink()
        del mine[named]
    world.check(code == 0, f"out: not mended: exit code {code}: {said}")
    for path, data in ports[unsafe].items():
        world.check(now.get(path) == data, f"out: {path} is not the port")
    world.check(not (left := _strays(now, [*new, *added])), f"out: left behind: {left}")
    world.check((world.folder / "precious").read_bytes() == MINE, "out: written through a link")
    world.check(contents(tree) == old, "out: the original changed")
    for path in added:
        (out / path).unlink()


def _at(out: Path, path: str) -> bytes | None:
    found = out / path
    try:
        return b"link" if found.is_symlink() else b"folder" if found.is_dir() else found.read_bytes()
    except OSError:
        return None


def _meddle(world: World, out: Path, there: Sequence[str]) -> tuple[Contents, Contents]:
    """What a user does in a copy: what porter must not overwrite, and what is no concern of its."""
    dice, mine, added = world.dice, {}, {}
    for path in dice.sample(there, min(len(there), dice.choice((0, 0, 1, 2)))):
        file, how = out / path, dice.choice(("edited", "same size and time", "deleted", "folder", "link"))
        data, times = file.read_bytes(), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
        world.counts["out", how] += 1
        if how == "edited":
            file.write_bytes(data + MINE)
        elif how == "same size and time":
            file.write_bytes(data[::-1])
            os.utime(file, ns=times)
        else:
            file.unlink()
        if how == "folder":
            file.mkdir()
            (file / "mine.txt").write_bytes(MINE)
        elif how == "link":
            file.symlink_to(world.folder / "precious")
        if how != "deleted":
            mine[path] = _at(out, path)
    if dice.random() < 0.5:
        path = f"d{dice.randrange(FOLDERS)}/mine.txt"
        if (out / path).parent.is_dir():
            (out / path).write_bytes(MINE)
            added[path] = MINE
    return mine, added


# --- in place


def in_place(world: World, name: str, old: Contents, new: Contents) -> None:
    tree = world.folder / "inplace"
    shutil.rmtree(tree, ignore_errors=True)
    write(tree, old)
    command = ("migrate", "inplace", "--inplace", "--quiet")
    if name == "undo":
        code, said = world.run(*command)
        world.check(code == 0 and contents(tree) == new, f"undo: the run before it failed: {said}")
        command = ("undo", "inplace")
    world.kill(name, _watched(tree), *command)
    now = contents(tree)
    for path in old:
        world.check(now.get(path) in (old[path], new[path]), f"{name}: {path} is half written")
    changed = [path for path in old if old[path] != new[path]]
    world.counts[name, "in the middle"] += len({now[path] == new[path] for path in changed}) == 2
    mine = world.dice.sample(changed, world.dice.choice((0, 0, 1, 3)))
    for path in mine:
        (tree / path).write_bytes(now[path] + MINE)
    world.counts[name, "edited"] += len(mine)
    write(tree, {"d0/mine.txt": MINE})
    following = world.dice.choice((("undo", "inplace"), ("migrate", "inplace", "--inplace", "--quiet")))
    code, said = world.run(*following)
    world.counts[name, f"then {following[0]}"] += 1
    world.check(code in ((0,) if following[0] == "migrate" else (0, 1, 2)), f"{name}: exit code {code}: {said}")
    now, wanted = contents(tree), new if following[0] == "migrate" else old
    for path in old:
        if path in mine:
            world.check(now[path] in (old[path] + MINE, new[path] + MINE), f"{name}: {path} was the user's")
        else:
            world.check(now.get(path) == wanted[path], f"{name}, then {following[0]}: {path} is not mended: {said}")
    world.check(now.get("d0/mine.txt") == MINE, f"{name}: d0/mine.txt was the user's")
    world.check(not (left := _strays(now, [*old, "d0/mine.txt"])), f"{name}: left behind: {left}")


def trees(world: World, files: int) -> tuple[Contents, list[Contents]]:
    """The tree, and the bytes that porter makes of it: without and with the edits to review."""
    names = [f"d{n % FOLDERS}/m{n}.py" for n in range(files)]
    old = {name: SOURCE.format(n=n).encode() for n, name in enumerate(names)}
    old |= {"batch.py": BATCH.encode(), "setup.py": b"", "d0/notes.txt": b"cuda\n"}
    write(world.folder / "tree", old)
    (world.folder / "home").mkdir()
    (world.folder / "precious").write_bytes(MINE)
    ports = []
    for more in ((), ("--unsafe",)):
        code, said = world.run("migrate", "tree", "--out", "port", *more)
        port = {path: data for path, data in contents(world.folder / "port").items() if path in old}
        if code or any(old[name] == port[name] for name in names):
            raise SystemExit(f"interrupted.py: porter does not port the tree of its own: {said}")
        ports.append(port)
    if any(ports[0][name] == ports[1][name] for name in names):
        raise SystemExit("interrupted.py: --unsafe makes no difference, so that old and new copies are alike")
    return old, ports


def rounds(folder: Path, seed: int, number: int, files: int, commands: Sequence[str]) -> World:
    world = World(folder, random.Random(seed))
    old, ports = trees(world, files)
    legs: dict[str, Callable[[], None]] = {
        "out": lambda: copies(world, old, ports),
        "inplace": lambda: in_place(world, "inplace", old, ports[0]),
        "undo": lambda: in_place(world, "undo", old, ports[0]),
    }
    for done in range(number + 1):  # the first of each is not killed but timed
        for name in commands:
            legs[name]()
        if done and done % 25 == 0:
            print(f"{done} rounds, violations: {len(world.wrong)}", flush=True)
    return world


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help="of each command (default: 200)")
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=COMMANDS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--folder", help="where the trees are made (default: in memory, where there is /dev/shm)")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would porter
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    print(f"seed {given.seed}, {given.rounds} rounds of each command, {given.files} files", flush=True)
    with tempfile.TemporaryDirectory(dir=given.folder or memory) as name:
        world = rounds(Path(os.path.realpath(name)), given.seed, given.rounds, given.files, given.only)
    for command in given.only:
        told = ", ".join(f"{what} {n}" for (of, what), n in sorted(world.counts.items()) if of == command)
        print(f"{command}: {told}")
    print(f"violations: {len(world.wrong)}")
    return 1 if world.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
