"""The numbers of tensors, a piece at a time, and how far those of two are apart. Here alone numpy is needed."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from math import sqrt
from typing import IO, Any

from porter.checkpoint.archive import Archive
from porter.checkpoint.errors import Damaged, reading
from porter.checkpoint.model import BITS, Span, Storage, Tensor
from porter.checkpoint.regions import common
from porter.checkpoint.window import Window
from porter.errors import UserError
from porter.files.read import opened

_PIECES = 1 << 24  # of one tensor by those of the other
PIECE = 1 << 16  # elements that are held of each side
_CODES = {
    **{
        f"{name}{bits}": f"{kind}{bits // 8}"
        for kind, name in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
    **{"float16": "f2", "float32": "f4", "float64": "f8", "complex64": "c8", "complex128": "c16", "bool": "u1"},
    **{"bfloat16": "u2", "qint8": "i1", "qint32": "i4"},
}  # of all others their bytes
# bits of the exponent and of the mantissa, the bias, whether there are infinities
_SMALL = {
    "float8_e4m3fn": (4, 3, 7),
    "float8_e5m2": (5, 2, 15),
    "float8_e4m3fnuz": (4, 3, 8),
    "float8_e5m2fnuz": (5, 2, 16),
}


def numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise UserError(
            "values are compared with numpy, which is not installed: pip install 'npu-porter[compare]'",
            "比较数值需要 numpy，当前未安装：pip install 'npu-porter[compare]'",
        ) from None
    return numpy


@dataclass
class Apart:
    """How far two tensors are apart, over all their elements."""

    count: int = 0
    differing: int = 0
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0  # of the differences
    one: float = 0.0  # squares of the first
    other: float = 0.0
    product: float = 0.0
    not_finite: int = 0  # elements of which one side alone is a number, or both another infinity

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    @property
    def relative(self) -> float:
        """The norm of the difference by that of the first."""
        if self.not_finite:
            return float("inf")
        return sqrt(self.squares / (self.one or self.other)) if self.squares else 0.0

    @property
    def cosine(self) -> float | None:
        if not self.differing:
            return 1.0
        norms = sqrt(self.one) * sqrt(self.other)
        return max(-1.0, min(1.0, self.product / norms)) if norms and norms < float("inf") else None

    def add(self, one: Any, other: Any) -> None:
        np = numpy()
        kinds = one.dtype.kind + other.dtype.kind
        # a double does not tell large integers apart
        differing = int(np.count_nonzero(one != other)) if not set(kinds) & set("fc") else None
        kind = "c16" if "c" in kinds else "f8"
        one, other = one.astype(kind), other.astype(kind)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = one - other
            if not (is_number := np.isfinite(apart)).all():
                same = (one == other) | (np.isnan(one) & np.isnan(other))
                self.not_finite += int(np.count_nonzero(~is_number & ~same))
                self.differing += int(np.count_nonzero(~is_number & ~same))
                one, other, apart = (np.where(is_number, values, 0) for values in (one, other, apart))
            apart = np.abs(apart)
            self.count += one.size
            self.differing += int(np.count_nonzero(apart)) if differing is None else differing
            self.largest = max(self.largest, float(apart.max(initial=0.0)))
            self.total += float(apart.sum())
            self.squares += _product(apart, apart)
            self.one += _product(one, one)
            self.other += _product(other, other)
            self.product += _product(one, other)


def _product(one: Any, other: Any) -> float:
    """By einsum: what else multiplies vectors starts a thread for each core, which costs more than the numbers."""
    np = numpy()
    return float(np.einsum("i,i->", one.conj() if one.dtype.kind == "c" else one, other).real)


def apart(one: Tensor, other: Tensor) -> Apart | None:
    """Of two tensors of one shape; None where the values of one are not there, or not all of them. What is the same bit for bit is
    read once, and not counted in."""
    boxes = []
    if len(one.parts) * len(other.parts) > _PIECES:
        return None
    for mine, theirs in common(one, other):
        if not (is_read(mine) and is_read(theirs)):
            return None
        boxes.append((mine, theirs))
    if sum(mine.count for mine, _ in boxes) != one.count:
        return None
    if all(left == right for pair in boxes for left, right in _each(*pair, "raw")):
        return Apart(one.count)
    found = Apart()
    for pair in boxes:
        for left, right in _each(*pair, "take"):
            found.add(left, right)
    return found


def _each(one: Tensor, other: Tensor, how: str) -> Iterator[tuple[Any, Any]]:
    """Pieces of both, as numbers, or as bytes that say the same of the same type."""
    if how == "raw" and (one.dtype, one.is_big_endian) != (other.dtype, other.is_big_endian):
        yield 0, 1
        return
    with ExitStack() as files:
        left, right = (getattr(_Values(tensor, files), how) for tensor in (one, other))
        for start in range(0, one.count, PIECE):
            stop = min(start + PIECE, one.count)
            yield left(start, stop), right(start, stop)


def is_read(tensor: Tensor) -> bool:
    """Whether its numbers are there; of one that is spread over more than its storage, they are not read again and again."""
    storage = tensor.storage
    bits = BITS.get(tensor.dtype, 0)
    if storage is None or tensor.layout or bits < 8 or tensor.dtype == "complex32":
        return False
    is_there = bool(storage.spans or storage.data) or not tensor.count
    return is_there and tensor.count * bits <= max(storage.size, 1 << 20) * 8


class _Values:
    def __init__(self, tensor: Tensor, files: ExitStack):
        assert tensor.storage
        self._tensor, self._files, self._storage = tensor, files, tensor.storage
        self._width = BITS[tensor.dtype] // 8
        self._code = (">" if self._storage.is_big_endian else "<") + _CODES.get(tensor.dtype, "u1")
        self._reader = _Bytes(self._storage, files)
        self._view = None if tensor.is_contiguous else self._strided()

    def raw(self, start: int, stop: int) -> bytes:
        if self._view is not None:
            return bytes(self._view.flat[start:stop].tobytes())
        first = (self._tensor.offset + start) * self._width
        return self._reader.take(first, (stop - start) * self._width)

    def take(self, start: int, stop: int) -> Any:
        return _decoded(self._tensor.dtype, numpy().frombuffer(self.raw(start, stop), self._code))

    def _strided(self) -> Any:
        """A view of all of its storage, of which only what is asked for is read."""
        np = numpy()
        strides = [step * self._width for step in self._tensor.strides]
        offset = self._tensor.offset * self._width
        return np.ndarray(self._tensor.shape, self._code, self._reader.whole(), offset, strides)


def _decoded(dtype: str, raw: Any) -> Any:
    np = numpy()
    if dtype == "bfloat16":
        return (raw.astype("<u4") << 16).view("<f4")
    if dtype in _SMALL:
        return _table(dtype)[raw]
    if dtype == "float8_e8m0fnu":
        return np.where(raw == 255, np.nan, np.exp2(raw.astype("f8") - 127))
    return raw.reshape(-1)


def _table(dtype: str) -> Any:
    """All 256 numbers of a type of one byte."""
    np = numpy()
    exponents, mantissas, bias = _SMALL[dtype]
    code = np.arange(256)
    sign = np.where(code >> 7, -1.0, 1.0)
    exponent = (code >> mantissas) & ((1 << exponents) - 1)
    fraction = (code & ((1 << mantissas) - 1)) / (1 << mantissas)
    found = sign * np.where(
        exponent == 0, np.exp2(1.0 - bias) * fraction, np.exp2(exponent.astype(float) - bias) * (1 + fraction)
    )
    if dtype.endswith("fnuz"):
        found[128] = np.nan
    elif dtype == "float8_e4m3fn":
        found[[127, 255]] = np.nan
    else:
        found[exponent == 31] = np.where(fraction[exponent == 31] > 0, np.nan, sign[exponent == 31] * np.inf)
    return found


class _Bytes:
    """Of a storage, wherever its pieces lie. What is compressed is read from its beginning, once."""

    def __init__(self, storage: Storage, files: ExitStack):
        self._storage, self._files = storage, files
        self._streams: dict[Span, IO[bytes]] = {}

    def take(self, start: int, size: int) -> bytes:
        if any(span.is_text for span in self._storage.spans):
            return bytes(self.whole()[start : start + size])
        if not self._storage.spans:
            return self._storage.data[start : start + size]
        found, at = [], 0
        for span in self._storage.spans:
            first, last = max(start, at), min(start + size, at + span.size)
            if first < last:
                found.append(self._read(span, first - at, last - first))
            at += span.size
        data = b"".join(found)
        if len(data) != size:
            with reading(self._storage.spans[0].file):
                raise Damaged.of("cut", at=start + len(data))
        return data

    def _read(self, span: Span, start: int, size: int) -> bytes:
        with reading(span.file):
            stream = self._stream(span)
            stream.seek(span.start + start)
            return stream.read(size)

    def _stream(self, span: Span) -> IO[bytes]:
        key = span._replace(start=0, size=0) if span.member else Span(span.file, 0, 0)
        if key not in self._streams:
            stream, size = self._files.enter_context(opened(span.file))
            self._streams[key] = stream
            if span.member:
                archive = Archive(Window(stream, 0, size, span.file))
                self._streams[key] = self._files.enter_context(archive.stream(span.member))
        return self._streams[key]

    def whole(self) -> Any:
        """All of it: a map of the file where it lies there as it is."""
        if len(self._storage.spans) == 1 and not self._storage.spans[0].member and not self._storage.spans[0].is_text:
            span = self._storage.spans[0]
            base = span.start - span.start % mmap.ALLOCATIONGRANULARITY
            length = span.start - base + span.size
            with reading(span.file):
                mapped = mmap.mmap(self._stream(span).fileno(), length, access=mmap.ACCESS_READ, offset=base)
            return memoryview(mapped)[span.start - base :]
        data = self._storage.data or b"".join(self._read(span, 0, span.size) for span in self._storage.spans)
        if any(span.is_text for span in self._storage.spans):
            data = data.decode("utf-8", "surrogatepass").encode("latin-1")
        return data
