"""Which operators of torch an API runs, forwards and backwards, and what runs those on an NPU: seen, not derived.

Recorded by benchmarks/opinfo.py: every API of PyTorch's operator database was run on the virtual NPU with the samples of
that database, in single precision where it takes that. What a call with other arguments runs may differ. Operators that
only allocate, view or convert are not listed. On an NPU `native` is a kernel of torch_npu, `cpu` the copy to the CPU and
back, `composite` something made of others.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from porter.catalog.read.shipped import shipped
from porter.resources import rules_dir

_LETTERS = {"native": "n", "cpu_fallback": "c", "composite": "e"}
_KINDS = {"n": "native", "c": "cpu", "e": "composite"}


@dataclass(frozen=True, slots=True)
class Traced:
    """Operators by name, without overload: "aten::add" -> "native"."""

    forward: dict[str, str]
    backward: dict[str, str]
    own: tuple[str, ...] = ()  # have a derivative of torch_npu's own; `backward` has torch's formula of it

    @property
    def on_cpu(self) -> tuple[str, ...]:
        """Operators that run on the CPU; those of a backward only where all of it is what an NPU runs."""
        parts = (self.forward,) if self.own else (self.forward, self.backward)
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
        found = (entry for entry in text.split() if entry)
        return {f"aten::{names[int(entry[:-1])]}": _KINDS[entry[-1]] for entry in found}

    return {
        api: Traced(part(forward), part(backward), tuple(f"aten::{name}" for name in own))
        for api, (forward, backward, *own) in data["apis"].items()
    }


def pack(rows: Iterable[dict], torch: str, torch_npu: str) -> bytes:
    """The file's bytes: the same for the same rows, whoever writes them and when."""
    apis: dict[str, dict] = {}
    for row in rows:
        for api, entry in row["apis"].items():
            into = apis.setdefault(api, {"forward": {}, "backward": {}, "own": set()})
            into["own"].update(entry.get("own", ()))
            for part in ("forward", "backward"):
                for name, kind in entry[part].items():
                    if into[part].get(name) != "cpu_fallback":
                        into[part][name] = kind
    seen = sorted({name for e in apis.values() for part in ("forward", "backward") for name in e[part]})
    number = {name: i for i, name in enumerate(seen)}

    def text(part: dict[str, str]) -> str:
        return " ".join(f"{number[name]}{_LETTERS[part[name]]}" for name in sorted(part))

    packed = {
        api: [text(e["forward"]), text(e["backward"]), *sorted(map(_short, e["own"]))]
        for api, e in sorted(apis.items())
    }
    data = {"torch": torch, "torch_npu": torch_npu, "operators": [_short(name) for name in seen], "apis": packed}
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0, filename="") as file:
        file.write(json.dumps(data, separators=(",", ":")).encode("ascii"))
    return stream.getvalue()


def _short(name: str) -> str:
    return name.removeprefix("aten::")
