"""The file that porter/catalog/read/traced.py reads, from the rows of benchmarks/opinfo.py."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable

_LETTERS = {"native": "n", "cpu_fallback": "c", "composite": "e"}


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
