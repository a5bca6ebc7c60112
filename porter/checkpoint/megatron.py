"""Shards of Megatron's ranks as one checkpoint: layers are counted through the pipeline, and parts of a tensor laid together."""

from __future__ import annotations

from porter.checkpoint.model import Checkpoint, Tensor, checked, contiguous
from porter.checkpoint.regions import rows
from porter.checkpoint.rules import axis_of, canonical
from porter.regex import lazy

_LAYER = lazy(r"(?:^|\.)layers\.(\d+)\.")
Shards = list[tuple[int, int, Checkpoint]]  # ranks of tensor and pipeline, and what lies there


def joined(checkpoint: Checkpoint, shards: Shards) -> None:
    checkpoint.format = f"megatron-{shards[0][2].format}"
    tensors: dict[str, list[Tensor]] = {}
    first = 0
    for pipeline in sorted({pipeline for _, pipeline, _ in shards}):
        here: dict[str, list[Tensor]] = {}
        layers = 0
        for _, _, shard in sorted((s for s in shards if s[1] == pipeline), key=lambda s: s[0]):
            for name, tensor in shard.tensors.items():
                if match := _LAYER.search(name) if name.startswith("model") else None:
                    layers = max(layers, int(match[1]) + 1)
                    name = f"{name[: match.start(1)]}{int(match[1]) + first}{name[match.end(1) :]}"
                here.setdefault(name, []).append(tensor)
        # what two stages have is the same: embeddings that are shared
        tensors |= {name: parts for name, parts in here.items() if name not in tensors}
        first += layers
    values = shards[0][2].values
    checkpoint.values, checkpoint.optimisers = values, shards[0][2].optimisers
    is_gated = values.get("args.swiglu") is True
    for name, parts in tensors.items():
        checkpoint.tensors[name] = _laid(checkpoint, name, parts, is_gated)


def _laid(checkpoint: Checkpoint, name: str, parts: list[Tensor], is_gated: bool) -> Tensor:
    axis = axis_of(name.removeprefix("model.")) if name.startswith("model") else None
    if len(parts) == 1 or axis is None or any(len(part.shape) <= axis for part in parts):
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    whole = Tensor(parts[0].dtype, tuple(shape), strides=contiguous(tuple(shape)), requires_grad=parts[0].requires_grad)
    blocks = 2 if is_gated and axis == 0 and "gate_up_proj" in canonical(name.removeprefix("model.")) else 1
    laid, at = [], [0] * blocks
    for block in range(blocks):
        at[block] = block * shape[axis] // blocks
    for part in parts:
        width = part.shape[axis] // blocks
        for block in range(blocks):
            begin = tuple(at[block] if n == axis else 0 for n in range(len(shape)))
            laid.append((begin, rows(part, block * width, width, axis)))
            at[block] += width
    whole.parts = tuple(laid)
    return checked(whole)
