"""Computes values of a repository for the placeholders of a snippet. {} where one is not known: the snippet is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from porter.advice.triggers import number
from porter.advice.world import Place, World

_ON = ("true", "yes", "on")  # values of a setting that is on


def computed(name: str, places: Sequence[Place], world: World) -> dict[str, str]:
    return _COMPUTED[name](places, world)


def _buffers(places: Sequence[Place], world: World) -> dict[str, str]:
    """What the largest message of a transformer takes: micro batch x sequence x hidden size x bytes, of one file."""
    for path in dict.fromkeys(place.path for place in places):
        sizes = [_one(key, path, world) for key in ("micro_batch", "sequence_length", "hidden_size")]
        if all(sizes):
            half = any(
                p.path == path and p.value.lower() in _ON for k in ("bf16", "fp16") for p in world.values.get(k, ())
            )
            batch, length, width = (int(size or 0) for size in sizes)
            each = 2 if half else 4
            megabytes = ceil(batch * length * width * each / 2**20)
            return {"megabytes": str(megabytes), "sum": f"{batch} x {length} x {width} x {each} bytes"}
    return {}


def _one(key: str, path: str, world: World) -> float | None:
    """The value of this name in this file; None where the file gives none, or several."""
    found = {number(place.value) for place in world.values.get(key, ()) if place.path == path}
    return found.pop() if len(found) == 1 else None


def _conversion(places: Sequence[Place], world: World) -> dict[str, str]:
    """How ATC is called for what torch.onnx.export writes."""
    # p[:2] is path and line
    shapes = next((p.value for p in world.values.get("onnx_input", ()) if p[:2] == places[0][:2]), "")
    modes = {place.value for place in world.values.get("operator_mode", ())}
    given = f' --input_shape="{shapes}"' if shapes else ""
    if "-1" in shapes:
        given += ' --dynamic_batch_size="1,2,4,8"'
    return {"shapes": given, "mode": modes.pop() if len(modes) == 1 else "high_precision"}


# a new name is also added to COMPUTED in schema.py
_COMPUTED: dict[str, Callable[[Sequence[Place], World], dict[str, str]]] = {
    "buffers": _buffers,
    "conversion": _conversion,
}
