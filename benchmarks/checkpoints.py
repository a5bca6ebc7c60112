"""What `porter checkpoint` costs: seconds and memory of whole processes, on files that are made here.

python benchmarks/checkpoints.py                  # inspect: headers that claim seven billion parameters, in files with holes
python benchmarks/checkpoints.py --gigabytes 1    # compare: two checkpoints of this size, full of numbers, of two formats
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from checkpoint_world import Storages, W, field, pickled, varint
from process import cost, porter

HIDDEN, INNER, LAYERS, WORDS = 4096, 11008, 32, 32000
LAYER = {
    **{f"self_attn.{name}_proj": (HIDDEN, HIDDEN) for name in "qkvo"},
    **{f"mlp.{name}_proj": (INNER, HIDDEN) for name in ("gate", "up")},
    "mlp.down_proj": (HIDDEN, INNER),
}


def shapes(layers: int = LAYERS, hidden: int = HIDDEN) -> Iterator[tuple[str, tuple[int, int]]]:
    """Of a model of seven billion parameters, or of one made smaller."""
    scale = HIDDEN // hidden
    for name in ("embed_tokens", "lm_head"):
        yield f"model.{name}.weight", (WORDS // scale, hidden)
    for layer in range(layers):
        for name, (height, width) in LAYER.items():
            yield f"model.layers.{layer}.{name}.weight", (height // scale, width // scale)


def safetensors(path: Path, rows: list[tuple[str, tuple[int, int]]], fill: bytes | None = None) -> Path:
    header, at = {}, 0
    for name, (height, width) in rows:
        size = 2 * height * width
        header[name] = {"dtype": "BF16", "shape": [height, width], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        _body(stream, at, fill)
    return path


def _body(stream, size: int, fill: bytes | None) -> None:
    """A hole, or the same numbers again and again."""
    if fill is None:
        stream.truncate(stream.tell() + size)
        stream.seek(0, 2)
        return
    while size:
        size -= stream.write(fill[:size])


def zipped(path: Path, rows: list[tuple[str, tuple[int, int]]], fill: bytes | None = None) -> Path:
    """A zip file with 64-bit places, as torch.save writes it."""
    storages = Storages()
    tree = storages.of({name: W(b"", shape, "bfloat16", "cuda:0", key=str(n)) for n, (name, shape) in enumerate(rows)})
    data = pickled(tree)
    for n, (_, (height, width)) in enumerate(rows):
        key = str(n).encode()
        old = b"X" + struct.pack("<I", len(key)) + key + b"X\6\0\0\0cuda:0J" + struct.pack("<i", 0)
        data = data.replace(old, old[:-4] + struct.pack("<i", height * width), 1)
    entries = []
    with path.open("wb") as stream:
        for name, size in [
            ("m/data.pkl", len(data)),
            *((f"m/data/{n}", 2 * h * w) for n, (_, (h, w)) in enumerate(rows)),
        ]:
            entries.append((name.encode(), size, stream.tell()))
            stream.write(
                struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 0, 0, 33, 0, size, size, len(name), 0) + name.encode()
            )
            _body(stream, size, fill) if name != "m/data.pkl" else stream.write(data)
        start = stream.tell()
        for name, size, at in entries:
            extra = struct.pack("<HHQ", 1, 8, at)
            head = (b"PK\1\2", 45, 45, 0, 0, 0, 33, 0, size, size, len(name), len(extra), 0, 0, 0, 0, 0xFFFFFFFF)
            stream.write(struct.pack("<4s6H3I5H2I", *head) + name + extra)
        end, count = stream.tell(), len(entries)
        stream.write(struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, end - start, start))
        stream.write(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        stream.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, end - start, 0xFFFFFFFF, 0))
    return path


def mindspore(path: Path, rows: list[tuple[str, tuple[int, int]]]) -> Path:
    with path.open("wb") as stream:
        for name, (height, width) in rows:
            size = 2 * height * width
            dims = b"".join(varint(1 << 3) + varint(n) for n in (height, width))
            head = dims + field(2, b"BFloat16") + varint(3 << 3 | 2) + varint(size)
            tag = field(1, name.encode())
            tensor = varint(2 << 3 | 2) + varint(len(head) + size)
            stream.write(varint(1 << 3 | 2) + varint(len(tag) + len(tensor) + len(head) + size) + tag + tensor + head)
            _body(stream, size, None)
    return path


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gigabytes", type=float, default=0)
    gigabytes = options.parse_args().gigabytes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if gigabytes:
            rows = list(shapes(max(1, round(gigabytes * 1e9 / 101_000_000)), HIDDEN // 2))
            fill = struct.pack("<65521H", *(random.Random(1).choices(range(0x3C00, 0x3F80), k=65521)))
            files = [safetensors(folder / "a.safetensors", rows, fill), zipped(folder / "b.pt", rows, fill)]
            size = files[0].stat().st_size / 1e9
            took = cost(porter("checkpoint", "compare", *map(str, files)), folder, folder / "cache")
            print(
                f"compare {size:.2f} GB with as much, all of it other: {took.wall:.1f} s, {took.cpu:.1f} s of a core, {took.memory:.0f} MiB"
            )
            return
        rows = list(shapes())
        for write in (safetensors, zipped, mindspore):
            file = write(folder / f"{write.__name__}.bin", rows)
            cost(porter("checkpoint", "inspect", str(file)), folder, folder / "cache")  # bytecode and compiled rules
            took = cost(porter("checkpoint", "inspect", str(file)), folder, folder / "cache")
            claimed = sum(height * width for _, (height, width) in rows)
            print(
                f"inspect {write.__name__}, {claimed / 1e9:.2f} billion: {took.wall:.2f} s, {took.cpu:.2f} s of a core, {took.memory:.0f} MiB"
            )


if __name__ == "__main__":
    main()
