"""What the processes of one run recorded, read and put in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Point:
    """One recorded number, exact."""

    value: float
    where: str


@dataclass(frozen=True, slots=True)
class Operator:
    name: str
    where: str
    kind: str  # native | composite | cpu_fallback
    synchronises: bool
    calls: int
    in_steps: int  # of them after the first optimiser step
    dtype: str
    shapes: int
    late_shapes: tuple[str, ...]  # met first after the second step


@dataclass(frozen=True, slots=True)
class Error:
    rank: int
    kind: str
    text: str
    where: str


@dataclass(slots=True)
class Records:
    series: dict[str, list[Point]] = field(default_factory=dict)  # "loss", "grad_norm Adam", ...; " of rank 1" beside 0
    saved: dict[str, list] = field(default_factory=dict)
    operators: list[Operator] = field(default_factory=list)
    errors: list[Error] = field(default_factory=list)
    steps: int = 0

    def operator_names(self) -> set[str]:
        return {operator.name for operator in self.operators}


def read(folder: Path) -> Records:
    records = Records()
    operators: dict[tuple[str, str], Operator] = {}
    # by rank; of one rank, the process that began first
    for path in sorted(folder.glob("*.jsonl"), key=_order):
        rank = _order(path)[0]
        for row in _rows(path):
            kind, name, value, where = row["kind"], row["name"], row["value"], row["where"]
            if kind in ("loss", "grad_norm", "value"):
                title = " ".join(filter(None, (kind if kind != "value" else "", name)))
                title += f" of rank {rank}" if rank else ""
                records.series.setdefault(title, []).append(Point(float.fromhex(value), where))
            elif kind == "saved":
                records.saved[f"{name} of rank {rank}" if rank else name] = value
            elif kind == "operator":
                operators[name, where] = _joined(operators.get((name, where)), name, where, value)
            elif kind == "error":
                records.errors.append(Error(rank, name, value, where))
            elif kind == "end":
                records.steps = max(records.steps, value["steps"])
    records.operators = [operators[key] for key in sorted(operators)]
    return records


def _order(path: Path) -> tuple[int, int]:
    rank, _, pid = path.stem.partition("-")
    return int(rank), int(pid)


def _rows(path: Path) -> Iterator[dict]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # cut off: the process died while writing it
            return


def _joined(known: Operator | None, name: str, where: str, value: dict) -> Operator:
    calls, in_steps, shapes, late = value["calls"], value["in_steps"], value["shapes"], set(value["late_shapes"])
    synchronises = value["sync"]
    if known:
        calls, in_steps, shapes = calls + known.calls, in_steps + known.in_steps, max(shapes, known.shapes)
        late, synchronises = late | set(known.late_shapes), synchronises or known.synchronises
    return Operator(
        name, where, value["class"], synchronises, calls, in_steps, value["dtype"], shapes, tuple(sorted(late)[:8])
    )
