"""torch.distributed.checkpoint: .metadata says which tensors there are, and where in the .distcp files each piece of one lies."""

from __future__ import annotations

import os
from dataclasses import replace

from porter.checkpoint.errors import Damaged, brief, inside, reading, refused
from porter.checkpoint.flatten import flatten
from porter.checkpoint.machine import Made
from porter.checkpoint.model import UNKNOWN, Checkpoint, Span, Storage, Tensor, Told, checked, contiguous
from porter.checkpoint.rebuild import dtype_of, is_shape
from porter.checkpoint.torch_files import Torch
from porter.checkpoint.window import Window
from porter.files.read import opened

Places = dict[tuple[str, tuple[int, ...]], tuple[str, int, int]]  # name, where a piece begins -> file, start, length
_MODULE = "torch.distributed.checkpoint.metadata."


def distributed(checkpoint: Checkpoint, folder: str) -> None:
    name = os.path.join(folder, ".metadata")
    checkpoint.format = "dcp"
    with opened(name) as (stream, size), reading(name, checkpoint.told.imports):
        root = Torch(checkpoint.told).read(Window(stream, 0, size, name))
        fields = root.fields() if isinstance(root, Made) else {}
        tensors, places = fields.get("state_dict_metadata"), fields.get("storage_data")
        if not isinstance(tensors, dict) or not isinstance(places, dict):
            raise Damaged.of("metadata")
        lies = _places(places)
    checkpoint.size += size
    for key, about in tensors.items():
        if isinstance(about, Made) and about.path == _MODULE + "TensorStorageMetadata":
            with reading(name):
                checkpoint.tensors[brief(key)] = _tensor(brief(key), about, lies, folder, name)
    for file in sorted({file for file, _, _ in lies.values()}):
        path = inside(folder, file, name)
        if not os.path.isfile(path):
            raise refused(path, "shard", name=file)
        checkpoint.size += os.path.getsize(path)


def _places(rows: dict[object, object]) -> Places:
    found: Places = {}
    for index, info in rows.items():
        key, place = _fields(index), _fields(info)
        offset, file = key.get("offset"), place.get("relative_path")
        start, length = place.get("offset"), place.get("length")
        if not isinstance(file, str) or not isinstance(start, int) or not isinstance(length, int):
            raise Damaged.of("metadata")
        found[brief(key.get("fqn")), tuple(offset) if is_shape(offset) else ()] = file, start, length
    return found


def _fields(value: object) -> dict[object, object]:
    return value.fields() if isinstance(value, Made) else {}


def _tensor(key: str, about: Made, lies: Places, folder: str, name: str) -> Tensor:
    fields = about.fields()
    properties, shape, chunks = fields.get("properties"), fields.get("size"), fields.get("chunks")
    state = properties.state if isinstance(properties, Made) else None
    dtype = dtype_of(state[0]) if isinstance(state, tuple) and state else dtype_of(_fields(properties).get("dtype"))
    if not is_shape(shape) or not isinstance(chunks, list):
        raise Damaged.of("metadata")
    whole = checked(Tensor(dtype, shape, strides=contiguous(shape)))
    parts = []
    for chunk in map(_fields, chunks):
        begin, sizes = chunk.get("offsets"), chunk.get("sizes")
        if not is_shape(begin) or not is_shape(sizes) or not len(begin) == len(sizes) == len(shape):
            raise Damaged.of("metadata")
        if (place := lies.get((key, begin))) is None:
            raise Damaged.of("piece", name=key)
        span = Span(inside(folder, place[0], name), place[1], place[2])
        parts.append((begin, checked(Tensor(dtype, sizes, Storage(place[2], (span,)), layout="packed"))))
    whole.parts = tuple(parts)
    return whole


def resolved(tensor: Tensor) -> Tensor:
    """With its pieces found in their files: needed of what is cut or compared. Raises UserError."""
    if not any(part.layout == "packed" for _, part in tensor.parts):
        return tensor
    parts = tuple((begin, _unpacked(part)) for begin, part in tensor.parts)
    return parts[0][1] if len(parts) == 1 and parts[0][1].shape == tensor.shape else replace(tensor, parts=parts)


def _unpacked(tensor: Tensor) -> Tensor:
    """The tensor that torch.save wrote as this piece."""
    span = tensor.storage.spans[0] if tensor.storage else Span("", 0, 0)
    with opened(span.file) as (stream, size), reading(span.file):
        window = Window(stream, 0, size, span.file).part(span.start, span.size)
        piece = Checkpoint(span.file, "", told=Told())
        flatten(Torch(piece.told).read(window), piece)
        found = next(iter(piece.tensors.values()), None)
        if found is None or found.shape != tensor.shape or UNKNOWN in (found.dtype, tensor.dtype):
            raise Damaged.of("piece", name=span.file)
        return found
