"""Makes rules/catalog/documents-*.json.gz: the facts of the vendor's tables of supported torch APIs. Same input, same bytes.

    python -m porter.catalog.make.overlay native_api_docs_2.7.1.json [...] --output rules/catalog

An input file holds what was read from the pages of one torch version: {"source": {repo, ref, commit, tree, licence,
note}, "apis": {name: {"status", "hw", "dtypes_named", "may_run_on_cpu", "inference_only", "npu_name"}}}. Facts are all
that is kept; no sentence of the pages is.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from porter.catalog.make.build import packed
from porter.catalog.read.documents import FORMAT, PREFIX, SUFFIX
from porter.regex import lazy

_FILE = lazy(r"native_api_docs_(\d+\.\d+(?:\.\d+)?)\.json")
_NAME = lazy(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
# how some of the pages shorten what they speak of
_OWNERS = {
    "Tensor": "torch.Tensor",
    "Function": "torch.autograd.Function",
    "FunctionCtx": "torch.autograd.function.FunctionCtx",
    "Node": "torch.autograd.graph.Node",
    "Optimizer": "torch.optim.Optimizer",
    "profile": "torch.autograd.profiler.profile",
}
_TYPES = {"fp16": "float16", "fp32": "float32", "fp64": "float64", "bf16": "bfloat16"}
_SOURCE = ("repo", "ref", "commit", "tree", "licence", "note")


def make(name: str, data: bytes) -> tuple[str, bytes]:
    """The overlay's name and its bytes. ValueError names what the input lacks."""
    match = _FILE.fullmatch(name)
    if not match:
        raise ValueError("is not called native_api_docs_VERSION.json")
    given = json.loads(data)
    rows: dict[tuple[object, ...], int] = {}
    apis: dict[str, int] = {}
    npu: dict[str, str] = {}
    for key, fact in sorted(given["apis"].items()):
        api = _full(key)
        row = (
            fact["status"],
            tuple(fact["hw"]),
            tuple(sorted(_TYPES.get(t, t) for t in fact.get("dtypes_named", ()))),
            int(fact.get("may_run_on_cpu", False)) + 2 * int(fact.get("inference_only", False)),
        )
        apis[api] = rows.setdefault(row, len(rows))
        if other := fact.get("npu_name"):
            npu[api] = other.replace("torch_npu.npu.", "torch.npu.")
    table = {
        "format": FORMAT,
        "torch": match[1],
        "source": {key: given["source"][key] for key in _SOURCE},
        "rows": [list(row) for row in rows],
        "apis": apis,
        "npu": {api: other for api, other in npu.items() if other != api},
    }
    text = json.dumps(table, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return f"{PREFIX}{match[1]}{SUFFIX}", packed(text.encode("ascii"))


def _full(name: str) -> str:
    match = _NAME.match(name)  # in two of the tables a note has slipped into a name
    if match is None:
        raise ValueError(f"has {name!r} among its names")
    name = match[0]
    first, dot, tail = name.partition(".")
    if not dot and first != "torch":
        return f"torch.Tensor.{name}"  # the page of named tensors leaves out whose methods they are
    return _OWNERS.get(first, first) + dot + tail


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m porter.catalog.make.overlay", description=__doc__.splitlines()[0])
    parser.add_argument("inputs", type=Path, nargs="+", metavar="JSON")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    given = parser.parse_args(arguments)
    for path in given.inputs:
        try:
            name, data = make(path.name, path.read_bytes())
            given.output.mkdir(parents=True, exist_ok=True)
            (given.output / name).write_bytes(data)
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
            return 2
        print(f"{given.output / name}: {len(data)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
