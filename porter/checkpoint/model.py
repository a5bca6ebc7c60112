"""A checkpoint as plain data: tensors of which the place in a file is known, and what the file would have done to who loads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from porter.checkpoint.errors import Damaged

# Bits of an element of a tensor. The names are torch's; types that torch lacks have names after those of safetensors. torch packs
# 2 of quint4x2 and 4 of quint2x4 into a byte, and the storage of such a tensor counts bytes: see `width`.
BITS = {
    **{f"{kind}{bits}": bits for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "bool": 8},
    **{"complex32": 32, "complex64": 64, "complex128": 128, "float6_e2m3": 6, "float6_e3m2": 6, "float4_e2m1": 4},
    **{f"float8_{kind}": 8 for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")},
    **{"float4_e2m1fn_x2": 8, "qint8": 8, "quint8": 8, "qint32": 32, "quint4x2": 4, "quint2x4": 2, "int4": 4},
}
UNKNOWN = "object"  # of an array that holds no numbers
MOST_DIMENSIONS = 64
_LARGEST = 1 << 62


def width(dtype: str) -> int:
    """Bytes of what torch counts in a storage: a number, or a byte that holds several."""
    return max(BITS[dtype], 8) // 8


class Span(NamedTuple):
    """Bytes of a file, or of a compressed member of the zip file that lies there."""

    file: str
    start: int
    size: int
    member: str = ""
    is_text: bool = False  # Latin-1 that was written as UTF-8: how old pickles hold bytes


@dataclass(slots=True)
class Storage:
    """What one tensor, or several, are views of."""

    size: int
    spans: tuple[Span, ...] = ()
    data: bytes = b""  # of what is small, or was decoded, instead of spans
    device: str = "cpu"
    is_big_endian: bool = False


@dataclass(slots=True)
class Tensor:
    dtype: str
    shape: tuple[int, ...]
    storage: Storage | None = None  # None: no values are there, or none that porter reads
    strides: tuple[int, ...] = ()
    offset: int = 0  # in elements
    requires_grad: bool | None = None  # None: not known
    layout: str = ""  # sparse, meta: what else it is than an array
    parts: tuple[tuple[tuple[int, ...], Tensor], ...] = ()  # where each begins, of one that lies in pieces

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def size(self) -> int:
        return (self.count * BITS.get(self.dtype, 0) + 7) // 8

    @property
    def device(self) -> str:
        return self.storage.device if self.storage else "meta" if self.layout == "meta" else ""

    @property
    def is_big_endian(self) -> bool:
        return bool(self.storage and self.storage.is_big_endian)

    @property
    def is_contiguous(self) -> bool:
        return self.strides == contiguous(self.shape)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def checked(tensor: Tensor) -> Tensor:
    """Raises Damaged: a shape that is none, or elements beyond the end of the storage."""
    if not all(is_size(n) for n in (*tensor.shape, *tensor.strides, tensor.offset)):
        raise Damaged.of("shape", shape=tensor.shape)
    if len(tensor.shape) > MOST_DIMENSIONS or tensor.count > _LARGEST:
        raise Damaged.of("shape", shape=tensor.shape)
    if tensor.storage and tensor.count and tensor.dtype in BITS:
        last = tensor.offset + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.strides))
        if ((last + 1) * BITS[tensor.dtype] + 7) // 8 > tensor.storage.size:
            raise Damaged.of("outside", shape=tensor.shape, dtype=tensor.dtype, size=tensor.storage.size)
    return tensor


def is_size(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def array(dtype: str, shape: tuple[int, ...], storage: Storage | None, **more: object) -> Tensor:
    """One whose elements follow each other."""
    tensor = Tensor(dtype, shape, storage)
    for key, value in more.items():
        setattr(tensor, key, value)
    if len(shape) <= MOST_DIMENSIONS and all(map(is_size, shape)):
        tensor.strides = contiguous(shape)
    return checked(tensor)


@dataclass
class Told:
    """What pickles of a checkpoint would import and call, and what else is to be said about it."""

    imports: dict[str, str] = field(default_factory=dict)  # a global -> a call of it, where a text is an argument
    instructions: set[str] = field(default_factory=set)
    persistent: set[str] = field(default_factory=set)
    notes: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def note(self, key: str, **values: object) -> None:
        if len(self.notes) < 100 and (key, values) not in self.notes:
            self.notes.append((key, values))


@dataclass
class Checkpoint:
    name: str
    format: str
    size: int = 0
    tensors: dict[str, Tensor] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)  # plain ones, by name
    optimisers: list[dict[str, object]] = field(default_factory=list)
    told: Told = field(default_factory=Told)
