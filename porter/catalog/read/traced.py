"""Which operators of torch an API runs, forwards and backwards, and what runs those on an NPU: seen, not derived.

Recorded by benchmarks/opinfo.py, written by benchmarks/trace_file.py: every API of PyTorch's operator database was run on the virtual NPU with the samples of
that database, in single precision where it takes that. What a call with other arguments runs may differ. Operators that
only allocate, view or convert are not listed. On an NPU `native` is a kernel of torch_npu, `cpu` the copy to the CPU and
back, `composite` something made of others.
"""

from __future__ import annotations

import functools
import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from porter.catalog.read.shipped import shipped
from porter.resources import rules_dir

_KINDS = {"n": "native", "c": "cpu", "e": "composite"}


@dataclass(frozen=True, slots=True)
class Traced:
    """Operators by name, without overload: "aten::add" -> "native"."""

    forward: dict[str, str]
    backward: dict[str, str]
    own_derivatives: tuple[str, ...] = ()  # have a derivative of torch_npu's own; `backward` has torch's formula of it

    @property
    def on_cpu(self) -> tuple[str, ...]:
        """Operators that run on the CPU; those of a backward only where all of it is what an NPU runs."""
        parts = (self.forward,) if self.own_derivatives else (self.forward, self.backward)
        return tuple(sorted({op for part in parts for op, kind in part.items() if kind == "cpu"}))


def versions(directory: Path | None = None) -> list[str]:
    """The torch versions that were traced, oldest first."""
    return shipped("traced-", ".json.gz", directory)


@functools.lru_cache(maxsize=1)
def newest() -> dict[str, Traced]:
    """The tables of the newest version that was traced."""
    known = versions()
    return load(known[-1]) if known else {}


@functools.lru_cache(maxsize=2)
def load(version: str, directory: Path | None = None) -> dict[str, Traced]:
    """{"torch.nn.functional.relu": Traced}; empty for a version that was not traced."""
    path = (directory or rules_dir() / "catalog") / f"traced-{version}.json.gz"
    if not path.is_file():
        return {}
    data = json.loads(gzip.decompress(path.read_bytes()))
    names: list[str] = data["operators"]

    def part(text: str) -> dict[str, str]:
        entries = (entry for entry in text.split() if entry)
        return {f"aten::{names[int(entry[:-1])]}": _KINDS[entry[-1]] for entry in entries}

    return {
        api: Traced(part(forward), part(backward), tuple(f"aten::{name}" for name in derivatives))
        for api, (forward, backward, *derivatives) in data["apis"].items()
    }
