"""Parts of tensors as tensors: the same storage, seen with other strides. Nothing is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from porter.checkpoint.model import Tensor, contiguous

Place = tuple[int, ...]


def pieces(tensor: Tensor) -> tuple[tuple[Place, Tensor], ...]:
    return tensor.parts or (((0,) * len(tensor.shape), tensor),)


def cut(tensor: Tensor, begin: Place, shape: Place) -> Tensor:
    """The box that begins there."""
    if tensor.parts:
        parts = []
        for at, part in tensor.parts:
            if box := _overlap(at, part.shape, begin, shape):
                first, length = box
                inner = cut(part, _minus(first, at), length)
                parts.append((_minus(first, begin), inner))
        return replace(tensor, shape=shape, strides=contiguous(shape), parts=tuple(parts))
    offset = tensor.offset + sum(n * step for n, step in zip(begin, tensor.strides))
    return replace(tensor, shape=shape, offset=offset)


def rows(tensor: Tensor, first: int, count: int, axis: int = 0) -> Tensor:
    begin = tuple(first if n == axis else 0 for n in range(len(tensor.shape)))
    return cut(tensor, begin, tuple(count if n == axis else length for n, length in enumerate(tensor.shape)))


def transposed(tensor: Tensor) -> Tensor:
    parts = tuple((at[::-1], transposed(part)) for at, part in tensor.parts)
    return replace(tensor, shape=tensor.shape[::-1], strides=tensor.strides[::-1], parts=parts)


def grouped(tensor: Tensor, groups: int) -> Tensor | None:
    """Its rows in groups of one size: a direction more. None where they are no such groups."""
    if not tensor.shape or groups < 1 or tensor.shape[0] % groups:
        return None
    height, (step, *steps) = tensor.shape[0] // groups, tensor.strides
    parts = []
    for at, part in tensor.parts:
        if at[0] % height or part.shape[0] % height or (inner := grouped(part, part.shape[0] // height)) is None:
            return None
        parts.append(((at[0] // height, 0, *at[1:]), inner))
    shape, strides = (groups, height, *tensor.shape[1:]), (height * step, step, *steps)
    return replace(tensor, shape=shape, strides=strides, parts=tuple(parts))


def common(one: Tensor, other: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Of two tensors of one shape, each box that lies in one piece of both."""
    for at, mine in pieces(one):
        for there, theirs in pieces(other):
            if box := _overlap(at, mine.shape, there, theirs.shape):
                begin, shape = box
                yield cut(mine, _minus(begin, at), shape), cut(theirs, _minus(begin, there), shape)


def _overlap(at: Place, shape: Place, there: Place, other: Place) -> tuple[Place, Place] | None:
    begin = tuple(map(max, at, there))
    end = tuple(min(a + n, b + m) for a, n, b, m in zip(at, shape, there, other))
    length = tuple(e - b for b, e in zip(begin, end))
    return (begin, length) if all(n > 0 for n in length) else None


def _minus(one: Place, other: Place) -> Place:
    return tuple(a - b for a, b in zip(one, other))
