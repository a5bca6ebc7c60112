"""A list of entries that are broken or mean harm, with two sound ones: what `porter fleet` has to say of each line."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.process import porter

TRAIN = "import torch\n\nmodel = torch.nn.Linear(4, 4).cuda()\n"
SECONDS = 20  # --timeout: the sound ones take two


@contextmanager
def hostile(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """The list, and how what is said of each of its lines begins; "" of a sound one. A server that never answers is there meanwhile."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        rows = [*_archives(folder), *_folders(folder), *_lines(folder, server.getsockname()[1])]
        file = folder / "list.txt"
        file.write_text("".join(f"{line}\n" for line, _ in rows), "utf-8")
        yield file, [why for _, why in rows]


def _archives(folder: Path) -> Iterator[tuple[str, str]]:
    source = folder / "train.py"
    source.write_text(TRAIN, "utf-8")
    for name, member, why in (
        ("sound", "sound/train.py", ""),
        ("climbs", "../../evil.py", "the archive is refused: '../../evil.py' leads out of its folder"),
    ):
        with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(source, member)
        yield f"{name}.tar.gz", why
    whole = (folder / "sound.tar.gz").read_bytes()
    (folder / "half.tar.gz").write_bytes(whole[: len(whole) // 2])
    yield "half.tar.gz", "the archive cannot be read: "
    (folder / "letter.zip").write_text("this is no archive\n", "utf-8")
    yield "letter.zip", "the archive cannot be read: "
    with (folder / "bomb.tar").open("wb") as stream:  # a name of three gigabytes, in a file with a hole
        info = tarfile.TarInfo("x")
        info.type, info.size = tarfile.GNUTYPE_LONGNAME, 3_000_000_000
        stream.write(info.tobuf(tarfile.GNU_FORMAT))
        stream.truncate(3_000_100_000)
    yield "bomb.tar", "it needs more memory than 1 GB (--memory)"


def _folders(folder: Path) -> Iterator[tuple[str, str]]:
    for name, files in (
        ("sparse", {"train.py": TRAIN}),
        ("settings", {"train.py": TRAIN, "porter.toml": "unknown = 1\n"}),
        ("deep", {"train.py": TRAIN + "x = " + "(" * 100_000 + "1" + ")" * 100_000 + "\n"}),
    ):
        (folder / name).mkdir()
        for file, text in files.items():
            (folder / name / file).write_text(text, "utf-8")
    with (folder / "sparse" / "huge.py").open("wb") as stream:
        stream.truncate(5_000_000_000)
    os.mkfifo(folder / "sparse" / "pipe.py")
    os.symlink("/dev/zero", folder / "sparse" / "zero.py")
    os.symlink(".", folder / "sparse" / "again")
    yield "sparse", ""
    yield "settings", "porter.toml:1: unknown key 'unknown'"
    yield "deep", ""


def _lines(folder: Path, port: int) -> Iterator[tuple[str, str]]:
    yield "gone", "no such folder or archive"
    yield "what is this", "'is' is not understood; write SOURCE"
    yield "sparse", "named before, in list.txt:6"
    yield f"git://127.0.0.1:{port}/hangs", f"not done after {SECONDS} s (--timeout)"
    yield "https://127.0.0.1:1/none.git", "git cannot fetch it: fatal: "
    yield "ext::sh%20-c%20true", "no such folder or archive"
    repository = folder / "origin"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    yield "origin revision=no-such-branch", "there is no revision 'no-such-branch'"
    yield "no-such-package==1.0", "cannot be downloaded from 127.0.0.1:1: "


def faults_of_hostile(folder: Path, engines: Sequence[Sequence[str]], environment: dict[str, str]) -> list[str]:
    """Of each engine: what was said of a line that should be said otherwise."""
    found = []
    with hostile(folder) as (file, expected):
        for n, words in enumerate(engines):
            command = porter(
                "fleet",
                str(file),
                "-o",
                str(folder / f"out-{n}"),
                "--progress",
                "json",
                "--memory",
                "1",
                "--timeout",
                str(SECONDS),
                *words,
            )
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
            )
            events = [json.loads(line) for line in done.stdout.splitlines()][1:]
            said = {event["place"]: event["why"]["en"] if event["why"] else "" for event in events}
            print(f"hostile, {' '.join(words)}: {len(events)} rows, {sum(map(bool, said.values()))} without a result")
            for line, why in enumerate(expected, 1):
                told = said.get(f"list.txt:{line}", "nothing")
                print(f"  {line}: {told or 'done'}")
                if not told.startswith(why) or bool(told) != bool(why):
                    found.append(f"hostile, {' '.join(words)}: line {line} says {told!r}, not {why!r}")
            if len(events) != len(expected):
                found.append(f"hostile, {' '.join(words)}: {len(events)} rows of {len(expected)}")
    if (folder.parent / "evil.py").exists():
        found.append("an archive wrote out of its folder")
    return found
