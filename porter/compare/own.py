"""What `porter instrument --loss-log` writes: JSON lines, each an object with a "kind", one file for each rank.

Whatever is not of the type that it should be is left out, as if it were not there: a log is written by a program that may die.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from porter.compare.run import OPTIMISERS, PARAMETERS, UPDATE, WITH_NORMS, Rank, Weight
from porter.compare.series import MOST_STEPS, tamed
from porter.files.documents import Json
from porter.logs.records import GRADIENT, LOSS, RATE, SCALE, SECONDS, SPEED

FORMAT = 1
_SERIES = {
    "loss": LOSS, "lr": RATE, "grad_norm": GRADIENT, "loss_scale": SCALE, "samples_per_second": SPEED, "seconds": SECONDS,
}  # fmt: skip
_DIMENSIONS, _NAME = 16, 500


def number_of(value: object) -> float | None:
    """A number, also where it is spelled "nan" or "inf"; None for what is none."""
    if type(value) is float:
        return tamed(value)
    if isinstance(value, str) and value.strip().lower() not in ("nan", "inf", "-inf", "infinity", "-infinity"):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return tamed(float(value))
    except OverflowError:
        return math.inf


def step_of(value: object) -> int | None:
    if type(value) is int and 0 <= value < MOST_STEPS:
        return value
    number = number_of(value)
    return int(number) if number is not None and 0 <= number < MOST_STEPS else None


def is_own(record: object) -> bool:
    return isinstance(record, dict) and isinstance(kind := record.get("kind"), str) and kind in _RECORDS


def take(rank: Rank, record: Json) -> None:
    _RECORDS[record["kind"]](rank, record)


def _header(rank: Rank, record: Json) -> None:
    rank.header = record


def _weights(rank: Rank, record: Json) -> None:
    parameters = record.get("parameters")
    for name, about in parameters.items() if isinstance(parameters, dict) else ():
        norm = number_of(about.get("norm")) if isinstance(about, dict) else None
        if norm is not None and len(rank.weights) < PARAMETERS:
            dtype = str(about.get("dtype") or "").removeprefix("torch.")
            rank.weights[name[:_NAME]] = Weight(norm, _shape(about), dtype, number_of(about.get("mark")))


def _optimiser(rank: Rank, record: Json) -> None:
    groups = record.get("groups")
    if isinstance(groups, list):
        rank.optimisers.append({**record, "groups": [group for group in groups if isinstance(group, dict)]})


def _modules(rank: Rank, record: Json) -> None:
    dropout = record.get("dropout")
    if isinstance(dropout, dict):  # a later one knows more; one without a table knows nothing
        rank.modules = {**record, "dropout": _numbers(dropout)}


def _batch(rank: Rank, record: Json) -> None:
    step, inputs = step_of(record.get("step")), record.get("inputs")
    for one in inputs if step is not None and isinstance(inputs, list) else ():
        if step is not None and isinstance(one, dict) and isinstance(one.get("hash"), str):
            mean = number_of(one.get("mean"))
            rank.batches.add(
                step, str(one.get("path"))[:_NAME], _shape(one), str(one.get("dtype")), one["hash"], math.nan if mean is None else mean
            )  # fmt: skip


def _step(rank: Rank, record: Json) -> None:
    if (step := step_of(record.get("step"))) is None:
        return
    for key, value in record.items():
        if (kind := _SERIES.get(key)) and (number := number_of(value)) is not None:
            rank.add(kind, step, number)


def _norms(rank: Rank, record: Json) -> None:
    step, gradients = step_of(record.get("step")), record.get("gradients")
    if step is None or not isinstance(gradients, dict) or (len(rank.norms) >= WITH_NORMS and step not in rank.norms):
        return
    rank.norms[step] = _numbers(gradients)
    marks = record.get("marks")
    rank.marks[step] = _numbers(marks) if isinstance(marks, dict) else {}


def _update(rank: Rank, record: Json) -> None:
    """What reaches an optimiser, of which there may be several."""
    number, step = step_of(record.get("optimizer", 0)), step_of(record.get("step"))
    norm, values = number_of(record.get("grad_norm")), step_of(record.get("values"))
    if step is not None and norm is not None and number is not None and number < OPTIMISERS:
        rank.add(f"{UPDATE}{number}", step, norm)
        rank.moved[number] = values or 0


def _numbers(table: Json) -> dict[str, float]:
    values = {name[:_NAME]: number_of(value) for name, value in table.items()}
    return {name: value for name, value in values.items() if value is not None}


def _end(rank: Rank, record: Json) -> None:
    rank.ended = True


def _shape(about: Json) -> tuple[int, ...]:
    shape = about.get("shape")
    return tuple(n for n in shape[:_DIMENSIONS] if isinstance(n, int)) if isinstance(shape, list) else ()


_RECORDS: dict[str, Callable[[Rank, Json], None]] = {
    "run": _header, "weights": _weights, "optimizer": _optimiser, "modules": _modules, "batch": _batch, "step": _step,
    "norms": _norms, "update": _update, "end": _end,
}  # fmt: skip
