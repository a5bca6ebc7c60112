"""A file or a folder as a Checkpoint: which format it is, is found in its bytes, whatever its name is."""

from __future__ import annotations

import json
import os
import re

from porter.checkpoint import plain_files
from porter.checkpoint.archive import Archive
from porter.checkpoint.errors import Damaged, inside, reading, refused
from porter.checkpoint.flatten import flatten
from porter.checkpoint.model import Checkpoint, Tensor
from porter.checkpoint.torch_files import Torch
from porter.checkpoint.window import Window
from porter.files.errors import FilesError, reason
from porter.files.read import opened
from porter.regex import lazy

INDEX = 1 << 28  # bytes of an index of shards
_PICKLES = b"\x80()]}lcNIKJMFGSTUVXP\x88\x89\x8a"  # what pickles of any protocol begin with
_SHARD = lazy(r"mp_rank_(\d{2,3})(?:_(\d{3}))?")
_MEGATRON = ("model_optim_rng.pt", "model_rng.pt")
_WHOLE = (
    "model.safetensors",
    "pytorch_model.bin",
    "adapter_model.safetensors",
    "adapter_model.bin",
    "diffusion_pytorch_model.safetensors",
)


def read(name: str) -> Checkpoint:
    """Raises UserError or FilesError: one line that says what keeps it from being read."""
    if os.path.isdir(name):
        return _folder(name)
    checkpoint = Checkpoint(name, "")
    if name.endswith(".index.json"):
        _index(checkpoint, name)
    elif os.path.basename(name) == ".metadata":
        return _folder(os.path.dirname(name) or ".")
    else:
        _file(checkpoint, name)
    return checkpoint


def _file(checkpoint: Checkpoint, name: str) -> None:
    with opened(name) as (stream, size), reading(name, checkpoint.told.imports):
        _add(checkpoint, Window(stream, 0, size, name))
    checkpoint.size += size


def _add(checkpoint: Checkpoint, window: Window) -> None:
    told, head = checkpoint.told, window.part(0, min(window.size, 16)).read()
    found: dict[str, Tensor] = {}
    if not head:
        raise Damaged.of("empty")
    if head.startswith(b"PK\3\4") and _is_numpy(window):
        checkpoint.format, found = "npz", plain_files.numpy_archive(Archive(window), told)
    elif head.startswith(plain_files.ARRAY):
        checkpoint.format, found = "npy", {"array": plain_files.numpy_file(window, told)}
    elif head[6:9] == b"\0\0{":  # after a length of eight bytes
        checkpoint.format, found = "safetensors", plain_files.safetensors(window, told)
    elif head[:1] == b"\n":
        checkpoint.format, found = "mindspore", plain_files.mindspore(window, told)
    elif (
        head.startswith(b"PK\3\4")
        or head[:1] in _PICKLES
        or window.part(0, min(window.size, 262)).read()[257:] == b"ustar"
    ):
        reader = Torch(told)
        root = reader.read(window)
        checkpoint.format = reader.kind
        flatten(root, checkpoint)
    else:
        raise Damaged.of("unknown")
    for key, tensor in found.items():
        if key in checkpoint.tensors:
            raise Damaged.of("again", name=key)
        checkpoint.tensors[key] = tensor


def _is_numpy(window: Window) -> bool:
    names = Archive(window).members
    return bool(names) and all(name.endswith(".npy") for name in names)


def _folder(name: str) -> Checkpoint:
    checkpoint = Checkpoint(name, "")
    try:
        names = sorted(os.listdir(name))
    except OSError as error:
        raise FilesError("unreadable", path=name, error=reason(error)) from None
    paths = {entry: os.path.join(name, entry) for entry in names}
    indexes = [entry for entry in names if entry.endswith((".safetensors.index.json", ".bin.index.json"))]
    if ".metadata" in paths:
        from porter.checkpoint.distributed import distributed

        distributed(checkpoint, name)
    elif indexes:
        _index(checkpoint, paths[max(indexes, key=lambda entry: "safetensors" in entry)])
    elif shards := [(match, entry) for entry in names if (match := _SHARD.fullmatch(entry))]:
        from porter.checkpoint.megatron import joined

        shards_of = [_shard(checkpoint, paths[entry], match) for match, entry in shards]
        joined(checkpoint, shards_of)
    elif "latest_checkpointed_iteration.txt" in paths and (latest := _latest(paths)):
        return read(os.path.join(name, latest))
    elif whole := next((entry for entry in _WHOLE if entry in paths), None):
        _file(checkpoint, paths[whole])
    elif parts := [entry for entry in names if entry.endswith(".safetensors")]:
        for entry in parts:
            _file(checkpoint, paths[entry])
    else:
        raise refused(name, "folder")
    return checkpoint


def _latest(paths: dict[str, str]) -> str | None:
    with opened(paths["latest_checkpointed_iteration.txt"]) as (stream, _):
        text = stream.read(32).decode("ascii", "replace").strip()
    entry = f"iter_{int(text):07d}" if text.isdecimal() else text
    return entry if entry in paths else None


def _shard(checkpoint: Checkpoint, folder: str, match: re.Match[str]) -> tuple[int, int, Checkpoint]:
    """Ranks of tensor and pipeline, and what lies there."""
    file = next((path for part in _MEGATRON if os.path.isfile(path := os.path.join(folder, part))), None)
    if file is None:
        raise refused(folder, "shard", name=_MEGATRON[0])
    shard = Checkpoint(file, "", told=checkpoint.told)
    _file(shard, file)
    checkpoint.size += shard.size
    return int(match[1]), int(match[2] or 0), shard


def _index(checkpoint: Checkpoint, name: str) -> None:
    """Shards that an index names: each in the folder of the index."""
    with opened(name) as (stream, size), reading(name):
        if size > INDEX:
            raise Damaged.of("large")
        try:
            index = json.loads(stream.read(size))
        except RecursionError:
            raise Damaged.of("nested") from None
        places = index.get("weight_map") if isinstance(index, dict) else None
        if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
            raise Damaged.of("index")
    folder = os.path.dirname(name)
    for place in sorted(set(places.values())):
        _file(checkpoint, inside(folder, place, name))
    checkpoint.format += "-sharded"
    if absent := [key for key in places if key not in checkpoint.tensors]:
        checkpoint.told.note("index-absent", n=len(absent), names=", ".join(sorted(absent)[:3]))
