"""What a checkpoint holds, as one document for programs, of which the text is a view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from porter import __version__
from porter.checkpoint.model import Checkpoint, Tensor
from porter.checkpoint.rules import is_aside, section, unread, verdict
from porter.files.documents import Json
from porter.rulebook.words import speaker

SCHEMA = 1
say = speaker("checkpoint")
_GPU = ("cuda", "xpu", "mps", "hpu", "mlu", "musa")


def head(checkpoint: Checkpoint) -> Json:
    weights = [tensor for name, tensor in checkpoint.tensors.items() if not is_aside(name)]
    return {
        "file": checkpoint.name,
        "format": checkpoint.format,
        "bytes": checkpoint.size,
        "tensors": len(checkpoint.tensors),
        "parameters": sum(tensor.count for tensor in weights),
    }


def document(checkpoint: Checkpoint, lang: str) -> Json:
    tensors = checkpoint.tensors
    frozen = [name for name, tensor in tensors.items() if tensor.requires_grad is False]
    known = sum(tensor.requires_grad is not None for tensor in tensors.values())
    told = checkpoint.told
    return {
        "schema": SCHEMA,
        "porter": __version__,
        "language": lang,
        **head(checkpoint),
        "prefixes": _prefixes(checkpoint),
        "dtypes": _counted(tensor.dtype for tensor in tensors.values()),
        "devices": _counted(tensor.device for tensor in tensors.values() if tensor.device),
        "tied": _tied(tensors),
        "frozen": {"known": known, "names": frozen},
        "optimisers": checkpoint.optimisers,
        "values": checkpoint.values,
        "globals": [
            {
                "name": name,
                "weights_only": verdict(name) == "allowed",
                "runs": verdict(name) == "runs",
                "text": text or None,
            }
            for name, text in sorted(told.imports.items())
        ],
        "instructions": unread(told.instructions),
        "persistent": sorted(told.persistent),
        "notes": notes(checkpoint, lang),
        "weights": [_row(name, tensor) for name, tensor in tensors.items()],
    }


def notes(checkpoint: Checkpoint, lang: str) -> list[Json]:
    """What is to be known before the file is loaded."""
    told = checkpoint.told
    found: list[tuple[str, dict[str, object]]] = list(told.notes)
    devices = Counter(tensor.device for tensor in checkpoint.tensors.values())
    for device in sorted(devices):
        kind = device.partition(":")[0]
        if kind in (*_GPU, "npu"):
            found.append(("device.npu" if kind == "npu" else "device", {"device": device, "n": devices[device]}))
    of = {key: sorted(name for name in told.imports if verdict(name) == key) for key in ("runs", "refused")}
    for name in of["runs"]:
        text = told.imports[name]
        found.append(("runs", {"call": f"{name}({text!r})" if text else name}))
    if of["refused"] and checkpoint.format not in ("dcp", "torchscript"):  # which nobody hands to torch.load
        found.append(("refused", {"n": len(of["refused"]), "names": ", ".join(of["refused"][:8])}))
    if (names := unread(told.instructions)) and checkpoint.format.endswith(
        ("torch", "torch-stream", "pickle", "torch-sharded")
    ):
        found.append(("instructions", {"names": ", ".join(names)}))
    for name in sorted(told.persistent):
        found.append(("persistent", {"name": name}))
    return [{"key": key, "values": values, "text": say(f"note.{key}", lang, **values)} for key, values in found]


def _row(name: str, tensor: Tensor) -> Json:
    row: dict[str, Any] = {"name": name, "dtype": tensor.dtype, "shape": list(tensor.shape), "bytes": tensor.size}
    row["device"], row["requires_grad"] = tensor.device or None, tensor.requires_grad
    return (
        row
        | ({"layout": tensor.layout} if tensor.layout else {})
        | ({"parts": len(tensor.parts)} if tensor.parts else {})
    )


def _counted(items: Iterable[str]) -> Json:
    return dict(sorted(Counter(items).items(), key=lambda row: (-row[1], row[0])))


def _prefixes(checkpoint: Checkpoint) -> list[Json]:
    """The first part of the names; of weights that all stand below one, the next part."""
    below = section(list(checkpoint.tensors))
    found: dict[str, list[int]] = {}
    for name, tensor in checkpoint.tensors.items():
        rest = name.removeprefix(below) if not is_aside(name) else name
        key = name[: len(name) - len(rest)] + rest.partition(".")[0]
        row = found.setdefault(key, [0, 0, 0])
        row[0], row[1], row[2] = row[0] + 1, row[1] + tensor.count, row[2] + tensor.size
    return [{"name": name, "tensors": n, "elements": count, "bytes": size} for name, (n, count, size) in found.items()]


def _tied(tensors: dict[str, Tensor]) -> list[list[str]]:
    """Names of one and the same piece of a storage."""
    places: dict[tuple[int, int, tuple[int, ...]], list[str]] = {}
    for name, tensor in tensors.items():
        if tensor.storage and tensor.count:
            places.setdefault((id(tensor.storage), tensor.offset, tensor.shape), []).append(name)
    return [names for names in places.values() if len(names) > 1]
