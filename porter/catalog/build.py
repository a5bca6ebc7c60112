"""Rebuilds a catalogue file from the wheels it is read from: same wheels, same bytes.

    python -m porter.catalog.build --torch-npu-wheel W --torch-wheel T --output rules/catalog

T is any wheel of the torch version that W is for; one without CUDA will do, only its Python sources are read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path

from porter.catalog.load import FORMAT
from porter.catalog.sources import CatalogueError, Wheel
from porter.catalog.surface import cuda_names, npu_names


def build(torch_npu: Path, torch: Path) -> tuple[str, bytes]:
    """The file's name and its bytes."""
    ours, theirs = _wheel(torch_npu, "torch_npu"), _wheel(torch, "torch")
    if theirs.version.partition("+")[0] != ours.version.partition(".post")[0]:
        raise CatalogueError(f"{torch}: torch_npu {ours.version} is made for another torch than {theirs.version}")
    data = {
        "format": FORMAT,
        "torch_npu": ours.version,
        "torch": theirs.version,
        "sources": [{"file": wheel.path.name, "sha256": wheel.sha256} for wheel in (ours, theirs)],
        "npu": npu_names(ours, theirs),
        "cuda": cuda_names(theirs),
    }
    text = json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return f"torch_npu-{ours.version}.json.gz", _packed(text.encode("ascii"))


def _packed(data: bytes) -> bytes:
    packed = bytearray(gzip.compress(data, compresslevel=9, mtime=0))
    packed[9] = 255  # the header's operating system: Python 3.10 and 3.11 write different ones
    return bytes(packed)


def _wheel(path: Path, name: str) -> Wheel:
    wheel = Wheel(path)
    if wheel.name != name:
        raise CatalogueError(f"{path}: a wheel of {wheel.name}, not of {name}")
    return wheel


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m porter.catalog.build", description=__doc__.splitlines()[0])
    parser.add_argument("--torch-npu-wheel", type=Path, required=True, metavar="W")
    parser.add_argument("--torch-wheel", type=Path, required=True, metavar="T")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    given = parser.parse_args(arguments)
    try:
        name, data = build(given.torch_npu_wheel, given.torch_wheel)
        given.output.mkdir(parents=True, exist_ok=True)
        (given.output / name).write_bytes(data)
    except (CatalogueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{given.output / name}: {len(data)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
