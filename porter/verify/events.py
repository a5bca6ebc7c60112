"""Scalars of a TensorBoard event file: records of length, checksum and a protobuf message, of which three fields count."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


def scalars(data: bytes) -> Iterator[tuple[str, int, float]]:
    """Tag, step, value; up to where the file is cut off."""
    try:
        for event in _records(data):
            step = 0
            for number, content in _fields(event):
                if number == 2 and isinstance(content, int):
                    step = content
                elif number == 5 and isinstance(content, bytes):
                    yield from ((tag, step, value) for tag, value in _summary(content))
    except (IndexError, struct.error, UnicodeDecodeError):
        return


def _records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 12 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        at += 12  # the length, and its checksum
        if at + size > len(data):
            return
        yield data[at : at + size]
        at += size + 4


def _summary(data: bytes) -> Iterator[tuple[str, float]]:
    for number, content in _fields(data):
        if number != 1 or not isinstance(content, bytes):
            continue
        found = dict(_fields(content))
        tag, simple, tensor = found.get(1), found.get(2), found.get(8)
        value = simple if isinstance(simple, float) else _tensor(tensor) if isinstance(tensor, bytes) else None
        if isinstance(tag, bytes) and value is not None:
            yield tag.decode(), value


def _tensor(data: bytes) -> float | None:
    """TensorFlow writes a scalar as a tensor of one element."""
    found = dict(_fields(data))
    which = found.get(1)
    kind = {1: "<f", 2: "<d"}.get(which) if isinstance(which, int) else None
    if kind is None:
        return None
    size = struct.calcsize(kind)
    one = found.get({"<f": 5, "<d": 6}[kind], found.get(4))
    if isinstance(one, float):
        return one
    return struct.unpack(kind, one)[0] if isinstance(one, bytes) and len(one) == size else None


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        content: int | float | bytes
        if wire == _VARINT:
            content, at = _varint(data, at)
        elif wire == _BYTES:
            size, at = _varint(data, at)
            content, at = data[at : at + size], at + size
        elif wire in (_EIGHT, _FOUR):
            content = struct.unpack_from("<d" if wire == _EIGHT else "<f", data, at)[0]
            at += 8 if wire == _EIGHT else 4
        else:  # groups: nothing that writes events uses them
            return
        yield key >> 3, content


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
