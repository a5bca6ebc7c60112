"""Makes the files of one catalogue from the two wheels it is read from: same wheels, same bytes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from porter.catalog.make.aten import Tables, deprecated
from porter.catalog.make.behind import behind
from porter.catalog.make.sources import CatalogueError, Wheel, Wheels
from porter.catalog.make.static import Reader
from porter.catalog.make.surface import cuda_names, npu_names, public_operators
from porter.catalog.make.torch_names import torch_names
from porter.catalog.make.transfer import keywords, transfers, warnings_given
from porter.catalog.read.load import FORMAT
from porter.versions import base


def build(torch_npu: Path, torch: Path) -> dict[str, bytes]:
    """{file below rules/catalog: its bytes}. `torch` is any wheel of that version: only its sources are read."""
    ours, theirs = _wheel(torch_npu, "torch_npu"), _wheel(torch, "torch")
    if theirs.version.partition("+")[0] != base(ours.version):
        raise CatalogueError(
            f"{torch}: torch_npu {ours.version} is made for another torch than {theirs.version}",
            f"{torch}：torch_npu {ours.version} 对应的不是 torch {theirs.version}",
        )
    tables = Tables(ours, theirs)
    custom = tables.custom(set(public_operators(ours)))
    aten = tables.aten()
    names = {
        "torch_npu": ours.version,
        "torch": theirs.version,
        "sources": [{"file": wheel.path.name, "sha256": wheel.sha256} for wheel in (ours, theirs)],
        "npu": npu_names(ours, theirs, custom),
        "cuda": cuda_names(theirs),
    }
    spoken = warnings_given((m for m in sorted(ours.modules()) if _speaks(m)), ours.parse)
    reader = Reader(Wheels([ours, theirs]), ("torch",))
    offered, signatures = torch_names(theirs, reader)
    operators = {
        "aten": aten,
        "npu": custom,
        **behind(theirs, aten, tables.aliases),
        "transfer": transfers(ours, reader),
        "transferred": keywords(ours),
        "deprecated": deprecated(tables.library, spoken),
    }
    sections: dict[str, dict[str, Any]] = {
        "names": names,
        "operators": operators,
        "torch": {"names": offered},
        "signatures": {"signatures": signatures | tables.schemas()},
    }
    return {f"torch_npu-{ours.version}/{section}.json.gz": _section(data) for section, data in sections.items()}


def _section(data: dict[str, Any]) -> bytes:
    text = json.dumps({"format": FORMAT} | data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return packed(text.encode("ascii"))


def packed(data: bytes) -> bytes:
    compressed = bytearray(gzip.compress(data, compresslevel=9, mtime=0))
    compressed[9] = 255  # the header's operating system: Python 3.10 and 3.11 write different ones
    return bytes(compressed)


def _wheel(path: Path, name: str) -> Wheel:
    wheel = Wheel(path)
    if wheel.name != name:
        raise CatalogueError(
            f"{path}: a wheel of {wheel.name}, not of {name}", f"{path}：这是 {wheel.name} 的 wheel，不是 {name} 的"
        )
    return wheel


def _speaks(module: str) -> bool:
    return module.startswith(("torch_npu.contrib", "torch_npu.npu", "torch_npu.utils"))
