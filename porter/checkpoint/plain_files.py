"""Formats that say in a header, or on the way, where each tensor lies: safetensors, MindSpore's protobuf, numpy's arrays."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

from porter.checkpoint.archive import Archive
from porter.checkpoint.errors import Damaged
from porter.checkpoint.machine import Machine
from porter.checkpoint.model import BITS, MOST_DIMENSIONS, UNKNOWN, Span, Storage, Tensor, Told, array, is_size
from porter.checkpoint.rebuild import NUMPY, is_shape
from porter.checkpoint.torch_files import Torch
from porter.checkpoint.window import Window

HEADER = 100_000_000  # bytes: what the format itself allows
_SAFE = {
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)},
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool", "C64": "complex64"},
    **{"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "F4": "float4_e2m1"},
    **{"F6_E2M3": "float6_e2m3", "F6_E3M2": "float6_e3m2", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"},
}  # fmt: skip
ARRAY = b"\x93NUMPY"
_ARRAY_HEADER = 1 << 16
_MOST = 4_000_000  # tensors of one file


def safetensors(window: Window, told: Told) -> dict[str, Tensor]:
    size = int.from_bytes(window.exactly(8), "little")
    if size > HEADER or size > window.size - 8:
        raise Damaged.of("header", size=size, there=window.size - 8)
    try:
        header = json.loads(window.exactly(size), object_pairs_hook=_once)
    except RecursionError:
        raise Damaged.of("nested") from None
    if not isinstance(header, dict):
        raise Damaged.of("damaged", why="the header is no object")
    start, tensors, ranges = 8 + size, {}, []
    for name, row in header.items():
        if name == "__metadata__":
            continue
        dtype, shape, (begin, end) = _row(name, row)
        data = window.part(start, window.size - start)
        data.seek(begin)
        span = data.take(end - begin)
        storage = Storage(end - begin, (span,)) if isinstance(span, Span) else None
        tensors[name] = array(dtype, shape, storage)
        if dtype in BITS and tensors[name].size != end - begin:
            raise Damaged.of("offsets", name=name)
        ranges.append((begin, end, name))
    last = 0
    for begin, end, name in sorted(ranges):
        if begin != last:
            raise Damaged.of("offsets", name=name)
        last = end
    return tensors


def _row(name: str, row: Any) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    try:
        dtype, shape, (begin, end) = row["dtype"], tuple(row["shape"]), row["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise Damaged.of("offsets", name=name) from None
    if not isinstance(dtype, str) or not all(map(is_size, (*shape, begin, end))) or begin > end:
        raise Damaged.of("offsets", name=name)
    return _SAFE.get(dtype, dtype), shape, (begin, end)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Damaged.of("twice", name=next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n])))
    return found


def mindspore(window: Window, told: Told) -> dict[str, Tensor]:
    """`Checkpoint` of its checkpoint.proto: values with a tag and a tensor; a large one comes in slices of one tag."""
    found: dict[str, tuple[str, tuple[int, ...], list[Span]]] = {}
    while window.at < window.size:
        if window.size - window.at == 17 and window.part(window.at, 7).read() == b"crc_num":
            break
        value = dict(_fields(_bytes(next(_fields(window)), 1)))
        tag = _text(value.get(1))
        if 2 not in value:
            told.note("map-tensor", name=tag)
            continue
        tensor = list(_fields(_bytes((2, value[2]), 2)))
        about = dict(tensor)
        dims = [n for key, item in tensor if key == 1 for n in (_packed(item) if isinstance(item, Window) else [item])]
        kind, shape, spans = found.setdefault(tag, (_text(about.get(2)), tuple(dims), []))
        content = _bytes((3, about.get(3)), 3)
        span = content.take(content.size)
        if (kind, shape) != (_text(about.get(2)), tuple(dims)) or not isinstance(span, Span):
            raise Damaged.of("twice", name=tag)
        spans.append(span)
        if len(found) > _MOST:
            raise Damaged.of("count", most=f"{_MOST:,}")
    return {tag: _of_mindspore(*row) for tag, row in found.items()}


def _of_mindspore(kind: str, shape: tuple[int, ...], spans: list[Span]) -> Tensor:
    dtype = kind.lower() if kind.lower() in BITS else UNKNOWN
    size = sum(span.size for span in spans)
    if shape == (0,) and dtype in BITS and size * 8 == BITS[dtype]:  # so it writes a number
        shape = ()
    return array(dtype, shape, Storage(size, tuple(spans)))


def _fields(window: Window) -> Iterator[tuple[int, Window | int]]:
    """Numbers of fields, with an integer or the bytes of each."""
    while window.at < window.size:
        key = _varint(window)
        kind = key & 7
        if kind == 0:
            yield key >> 3, _varint(window)
        elif kind == 2:
            size = _varint(window)
            part = window.part(window.at, size)
            window.seek(window.at + size)
            yield key >> 3, part
        elif kind in (1, 5):
            yield key >> 3, int.from_bytes(window.exactly(8 if kind == 1 else 4), "little")
        else:
            raise Damaged.of("damaged", why=f"wire type {kind} at byte {window.start + window.at}")


def _varint(window: Window) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = window.exactly(1)[0]
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise Damaged.of("damaged", why="a number of more than ten bytes")


def _packed(window: Window) -> list[int]:
    numbers: list[int] = []
    while window.at < window.size and len(numbers) <= MOST_DIMENSIONS:
        numbers.append(_varint(window))
    return numbers


def _bytes(field: tuple[int, object], number: int) -> Window:
    if field[0] != number or not isinstance(field[1], Window):
        raise Damaged.of("damaged", why=f"field {field[0]} where {number} should be")
    return field[1]


def _text(value: object) -> str:
    if not isinstance(value, Window) or value.size > 1 << 16:
        raise Damaged.of("damaged", why="a name that is none")
    value.seek(0)
    return value.read().decode("utf-8")


def numpy_file(window: Window, told: Told, member: Span | None = None) -> Tensor:
    """One .npy. What holds objects holds a pickle: it is followed, and its arrays are left there. `member`: where all of it lies, if
    `window` has its head alone."""
    head = window.exactly(8)
    if head[:6] != ARRAY or head[6] not in (1, 2, 3):
        raise Damaged.of("damaged", why="no array of numpy")
    size = int.from_bytes(window.exactly(2 if head[6] == 1 else 4), "little")
    if size > _ARRAY_HEADER:
        raise Damaged.of("header", size=size, there=_ARRAY_HEADER)
    try:
        about = ast.literal_eval(window.exactly(size).decode("utf-8").strip())
        descr, is_fortran, shape = about["descr"], about["fortran_order"], about["shape"]
    except (SyntaxError, TypeError, KeyError, RecursionError, MemoryError):
        raise Damaged.of("damaged", why="the header of the array") from None
    if not is_shape(shape):
        raise Damaged.of("shape", shape=shape)
    dtype = NUMPY.get(descr[1:], UNKNOWN) if isinstance(descr, str) else UNKNOWN
    if isinstance(descr, str) and descr.endswith("O"):
        told.note("objects")
        Machine(Torch(told), window).run()
        return array(UNKNOWN, shape, None)
    data: Span | bytes = window.take(window.size - window.at)
    if member:
        data = member._replace(start=window.size - len(data) if isinstance(data, bytes) else 0)
        data = data._replace(size=member.size - data.start)
    storage = Storage(len(data), data=data) if isinstance(data, bytes) else Storage(data.size, (data,))
    storage.is_big_endian = isinstance(descr, str) and descr.startswith(">")
    tensor = array(dtype, tuple(shape[::-1] if is_fortran is True else shape), storage)
    if is_fortran is True:
        tensor.shape, tensor.strides = tensor.shape[::-1], tensor.strides[::-1]
    return tensor


def numpy_archive(archive: Archive, told: Told) -> dict[str, Tensor]:
    found = {}
    for name in archive.members:
        if name.endswith(".npy"):
            span = archive.span(name)
            window = archive.head(name, 2 * _ARRAY_HEADER) if span.member else archive.window(name)
            found[name.removesuffix(".npy")] = numpy_file(window, told, span if span.member else None)
    return found
