"""PyTorch's own operator database on the virtual NPU, against the CPU bit for bit, forwards and backwards.

    python benchmarks/opinfo.py [--python PATH] [--trace rules/catalog/traced-2.13.0.json.gz]

Prints how many of the database's operators are identical, which differ for a known reason, and which without one. --trace
also writes which operators of torch every API of the database runs, forwards and backwards, and what runs those on an NPU.
Needs a virtual NPU that is set up (porter verify --setup) and what PyTorch's own tests import: pip install expecttest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks.trace_file import pack
from porter.verify import install, interpreter

DEVICE = Path(__file__).with_name("opinfo_device.py")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--python", help="the interpreter that has torch")
    arguments.add_argument("--trace", type=Path, help="write what ran for each API to this file")
    arguments.add_argument("--samples", type=int, default=6, help="of each operator")
    arguments.add_argument("--processes", type=int, default=os.cpu_count())
    given = arguments.parse_args()
    asked = interpreter.ask(given.python)
    device = install.find(asked)
    env = {**os.environ, **install.environment(device), "VIRTUAL_NPU_RANDOM": "cpu"}
    with ThreadPoolExecutor(given.processes) as pool, tempfile.TemporaryDirectory() as folder:
        parts = [
            (asked.path, Path(folder) / f"{i}", i, given.processes, given.samples, env) for i in range(given.processes)
        ]
        rows = sorted((row for found in pool.map(_part, parts) for row in found), key=lambda row: row["name"])
    unexplained = _tell(rows)
    if given.trace:
        given.trace.write_bytes(pack(rows, torch=device.torch, torch_npu=device.torch_npu))
    return 1 if unexplained else 0


def _part(part) -> list[dict]:
    """Every n-th operator; one that ends the process is reported, and the rest go on in a new one."""
    python, path, first, step, samples, env = part
    rows: list[dict] = []
    while True:
        command = [python, "-W", "ignore", DEVICE, path, first, step, samples, len(rows)]
        code = subprocess.run([str(word) for word in command], env=env, stderr=subprocess.DEVNULL).returncode
        rows += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if code == 0:
            return rows
        rows[-1] = {**rows[-1], "verdict": "unexplained", "why": f"the process ended with {code}"}


def _tell(rows: list[dict]) -> int:
    counts = Counter(row["verdict"] for row in rows)
    samples, gradients = (sum(row[key] for row in rows) for key in ("samples", "gradients"))
    print(f"{len(rows)} operators, {samples} samples, {gradients} with gradients")
    for verdict in ("identical", "explained", "unexplained", "not compared"):
        print(f"{verdict:13}{counts[verdict]}")
    for verdict in ("explained", "unexplained", "not compared"):
        for row in rows:
            if row["verdict"] == verdict:
                print(f"{verdict}: {row['name']}: {row['why']}")
    return counts["unexplained"]


if __name__ == "__main__":
    sys.exit(main())
