"""How long `porter diagnose` takes over a large log, and how much memory: python benchmarks/logs.py [--gigabytes 1]

Four kinds of log, each read to its end: of a training whose every line holds a loss, of a pipeline that only says
that all is well, of a library whose every line is an error that porter does not know, and of progress bars. A log is a
part of 8 MB that is read again and again: nothing is written to disk.
"""

from __future__ import annotations

import argparse
import io
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

PART = 8 << 20


def training(n: int, chance: random.Random) -> str:
    values = f"'loss': {2 + chance.random():.4f}, 'grad_norm': {chance.random():.4f}, 'learning_rate': 1e-05"
    return f"[rank{n % 8}]: 2025-04-08 18:07:20 - INFO - trainer - step {n} {{{values}, 'epoch': {n / 1e5:.2f}}}\n"


def quiet(n: int, chance: random.Random) -> str:
    return (
        f"2025-04-08 18:07:20,123 - INFO - pipeline - shard {n} read in {chance.random():.4f} s, queue depth {n % 64}\n"
    )


def errors(n: int, chance: random.Random) -> str:
    word = "".join(chance.choices("abcdefghijklmnop", k=12))
    head = f"[ERROR] HCCL({n},python):2025-12-04-14:46:07.{n % 999} [comm.cc:115]"
    return f"{head} [{n}][Init]errNo[0x{n:016x}] {word} failed\n"


def bars(n: int, chance: random.Random) -> str:
    return f"\r  {n % 100}%|####      | {n}/900000 [00:{n // 60 % 60:02d}<28:44:51,  {chance.random():.2f}s/it]"


KINDS = {"training": training, "quiet": quiet, "errors": errors, "bars": bars}


class Log(io.RawIOBase):
    """The part of a kind, over and over, up to `size` bytes; then one line that says something."""

    def __init__(self, line: Callable[[int, random.Random], str], size: int) -> None:
        chance, lines, length = random.Random(1), [], 0
        while length < PART:
            lines.append(line(len(lines), chance))
            length += len(lines[-1])
        self._part = "".join(lines).encode()
        self._left, self._at = size, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._left <= 0:
            end, self._part = b"\nRuntimeError: NPU out of memory.\n" if self._part else b"", b""
            return end
        data = self._part[self._at : self._at + size]
        self._at = (self._at + len(data)) % len(self._part)
        self._left -= len(data)
        return data


def measure(kind: str, size: int) -> None:
    from porter.diagnose.match import matchers, of_causes, of_packages, of_symptoms
    from porter.diagnose.scan import Scan
    from porter.logs.reading import blocks
    from porter.rulebook.table import load
    from porter.rulebook.texts import Texts

    texts = Texts()
    causes = texts.named("causes").values()
    meanings = [*of_causes(causes), *of_packages(causes, load().packages), *of_symptoms(texts)]
    log = Log(KINDS[kind], size)
    start = time.process_time()
    found = Scan(matchers(meanings)).read(blocks(log))
    seconds = time.process_time() - start
    assert ("out-of-memory", "") in found.sightings
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{kind:<10} {size / 2**30:5.2f} GB {seconds:7.1f} s {size / 2**20 / seconds:6.0f} MB/s {peak:5} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--kind", choices=list(KINDS))
    given = parser.parse_args()
    if given.kind:
        measure(given.kind, int(given.gigabytes * 2**30))
        return
    for kind in KINDS:  # each in a process of its own, for its own peak
        subprocess.run([sys.executable, __file__, "--kind", kind, "--gigabytes", str(given.gigabytes)], check=True)


if __name__ == "__main__":
    main()
