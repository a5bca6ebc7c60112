"""Two checkpoints compared as one document, of which the text is a view."""

from __future__ import annotations

from typing import Any

from porter import __version__
from porter.checkpoint.align import Pair, Tensors, align
from porter.checkpoint.document import SCHEMA, head, notes
from porter.checkpoint.model import Checkpoint
from porter.checkpoint.regions import transposed
from porter.checkpoint.values import Apart, apart, numpy
from porter.files.documents import Json


def compared(one: Checkpoint, other: Checkpoint, tolerance: float | None, lang: str) -> Json:
    numpy()  # said before files are read for minutes
    found = align(one, other)
    pairs = [_pair(pair, tolerance) for pair in found.pairs]
    pairs.sort(key=lambda row: (-_rank(row), row["baseline"], row["candidate"]))
    differing = [row for row in pairs if row["differs"]]
    return {
        "schema": SCHEMA,
        "porter": __version__,
        "language": lang,
        "outcome": "differs" if differing or found.missing or found.extra else "equal",
        "tolerance": tolerance,
        "baseline": head(one),
        "candidate": head(other),
        "differing": len(differing),
        "pairs": pairs,
        "missing": _rows(found.missing),
        "extra": _rows(found.extra),
        "without": found.without,
        "aside": {"baseline": found.aside[0], "candidate": found.aside[1]},
        "notes": {"baseline": notes(one, lang), "candidate": notes(other, lang)},
    }


def _rank(row: Json) -> float:
    """The worst first: other shapes, values that cannot be compared, then by distance."""
    if row["differs"] == "shape":
        return float("inf")
    return row["relative"] if row["relative"] is not None else -1.0 if row["differs"] else -2.0


def _pair(pair: Pair, tolerance: float | None) -> Json:
    mine, theirs = pair.tensors
    row: dict[str, Any] = {
        "baseline": pair.one,
        "candidate": pair.other,
        "how": pair.how,
        "transposed": pair.is_transposed,
        "shapes": [list(mine.shape), list(theirs.shape)],
        "dtypes": [mine.dtype, theirs.dtype],
        "frozen": [_frozen(mine.requires_grad), _frozen(theirs.requires_grad)],
        "differs": None,
        **dict.fromkeys(("count", "differing", "max", "mean", "relative", "cosine", "not_finite")),
    }
    if mine.shape != theirs.shape:
        return row | {"differs": "shape"}
    found = apart(mine, theirs)
    if found and found.differing and len(mine.shape) == 2 and mine.shape[0] == mine.shape[1] > 1:
        turned = apart(mine, transposed(theirs))
        if turned and turned.relative < 0.01 * found.relative:
            found, row["transposed"] = turned, True
    if found:
        row |= _numbers(found)
        within = found.relative <= (tolerance or 0.0) and not found.not_finite if tolerance else not found.differing
        row["differs"] = None if within else "values"
    if row["differs"] is None and mine.dtype != theirs.dtype and not (found and tolerance):
        row["differs"] = "dtype"
    if row["differs"] is None and None not in row["frozen"] and row["frozen"][0] != row["frozen"][1]:
        row["differs"] = "frozen"
    if row["differs"] is None and found is None and mine.count and not mine.layout == theirs.layout == "meta":
        row["differs"] = "unread"
    return row


def _frozen(requires_grad: bool | None) -> bool | None:
    return None if requires_grad is None else not requires_grad


def _numbers(found: Apart) -> Json:
    return {
        "count": found.count, "differing": found.differing, "max": found.largest, "mean": found.mean,
        "relative": None if found.not_finite else found.relative, "cosine": found.cosine, "not_finite": found.not_finite,
    }  # fmt: skip


def _rows(tensors: Tensors) -> list[Json]:
    return [{"name": name, "shape": list(tensor.shape), "dtype": tensor.dtype} for name, tensor in tensors.items()]
