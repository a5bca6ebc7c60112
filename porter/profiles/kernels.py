"""Kernels put together by type and core, with what their inputs say."""

from __future__ import annotations

from hashlib import blake2b

from porter.profiles.kinds import kind_of
from porter.profiles.model import LONGEST, NAMES, REST, Kernel
from porter.regex import lazy

_SHAPES, _ALL_SHAPES = 4096, 1 << 20  # different shapes that are told apart of one operator, and of all
_UNKNOWN = frozenset(("", "N/A", "Compute"))
_COMMUNICATION = frozenset(("HCCL", "COMMUNICATION"))
_SINGLE = frozenset(("FLOAT", "DT_FLOAT", "FLOAT32", "FP32"))
AICPU, _TYPES = "AI_CPU", 3
BLOCK = 16  # sizes that fill the matrix unit are multiples of it
_MATRIX = frozenset(("matmul", "convolution", "attention"))


_NUMBERED = lazy(r"^(.*?V\d|.*?)-?\d*$")  # an operator of a graph has its number behind it


class Kernels:
    def __init__(self, table: dict[tuple[str, str], Kernel]) -> None:
        self._table = table
        self._seen: dict[tuple[str, str], set[int]] = {}
        self._first: str | None = None
        self._uneven: dict[str, bool] = {}
        self._held = 0

    def of(self, name: str, type_: str, core: str) -> Kernel:
        if type_ in _UNKNOWN:
            type_ = type_of(name)
        core = "" if core in ("N/A", "None") else core
        key = (type_[:LONGEST], core[:LONGEST])
        kernel = self._table.get(key)
        if kernel is None:
            if len(self._table) >= NAMES:
                key = (REST, "")
            kind = "communication" if core in _COMMUNICATION else kind_of(type_)
            kernel = self._table.setdefault(key, Kernel(name=key[0], core=key[1], kind=kind))
        return kernel

    def inputs(self, kernel: Kernel, step: str, shapes: str, types: str, time: float) -> None:
        if self._first is None:
            self._first = step
        if kernel.kind in _MATRIX:
            kinds = types.split(";")
            kernel.single += time if kinds[0] in _SINGLE else 0.0
            kernel.uneven += time if kernel.kind == "matmul" and self._is_uneven(shapes) else 0.0
        if kernel.core == AICPU and types not in _UNKNOWN and len(kernel.types) < _TYPES:
            kernel.types[types[:LONGEST]] = None
        if shapes in _UNKNOWN or kernel.kind == "communication":
            return
        seen = self._seen.setdefault((kernel.name, kernel.core), set())
        key = hash_of(shapes)
        if key not in seen and len(seen) < _SHAPES and self._held < _ALL_SHAPES:
            seen.add(key)
            self._held += 1
            kernel.shapes = len(seen)
            if step != self._first:
                kernel.fresh.add(time)

    def _is_uneven(self, shapes: str) -> bool:
        if len(shapes) > LONGEST:
            return is_uneven(shapes)
        known = self._uneven.get(shapes)
        if known is None:
            if len(self._uneven) > _SHAPES:
                self._uneven.clear()
            known = self._uneven[shapes] = is_uneven(shapes)
        return known


def hash_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def is_uneven(shapes: str) -> bool:
    """Whether one of the two matrices has a size that is no multiple of 16: `"4096,1000;1000,16"`."""
    for shape in shapes.strip('"').split(";")[:2]:
        sizes = [size for size in shape.split(",") if size.strip().isdigit()][-2:]
        if any(int(size) % BLOCK for size in sizes):
            return True
    return False


def type_of(name: str) -> str:
    """aclnnMatmul_MatMulCommon_MatMulV2 -> MatMulV2; MatMulV253 -> MatMulV2; Conv2D1 -> Conv2D; trans_Cast_5 -> Cast"""
    text = name.rpartition("/")[2] or name
    parts = [part for part in text.split("_") if part and not part.isdigit()]
    last = parts[-1] if parts else text
    match = _NUMBERED.match(last)
    return match[1] if match and match[1] and not name.startswith("aclnn") else last
