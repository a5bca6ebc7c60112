"""What the processes of one run recorded, read and put in order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from porter.files.documents import Json
from porter.verify import did

_OF_TORCHRUN = ("ChildFailedError", "SignalException")  # says only that a rank failed
_PASSED_ON = ("ProcessRaisedException", "ProcessExitedException")  # by mp.spawn; the rank may have told more
_FRAME = re.compile(r'File "(.+?)", line (\d+)')
_RAISED = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)): (.*)")


@dataclass(frozen=True, slots=True)
class Point:
    """One recorded number, exact, or with the digits that were printed."""

    value: float
    where: str
    last_digit: float = 0.0  # what its last digit stands for, where digits are all that is known


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
    about: str = ""  # a package of somebody else's that it speaks of, with its version


@dataclass(frozen=True, slots=True)
class Change:
    """Calls of one operator at one place that a difference of the target concerns."""

    difference: str
    operator: str
    where: str
    calls: int
    changed: int
    furthest: float  # largest difference of an element, as a part of the largest element


@dataclass(frozen=True, slots=True)
class FirstUpdate:
    """What the first step of an optimiser added to its parameters, beside what it added in another run."""

    optimiser: str
    parameters: int
    size: float  # length of the other run's
    distance: float
    furthest: float


@dataclass(slots=True)
class Records:
    series: dict[str, list[Point]] = field(default_factory=dict)  # "loss", "grad_norm Adam", ...; " of rank 1" beside 0
    saved: dict[str, list[Any]] = field(default_factory=dict)
    operators: list[Operator] = field(default_factory=list)
    errors: list[Error] = field(default_factory=list)
    stuck: list[tuple[int, str]] = field(default_factory=list)  # rank, and where it was shortly before the time limit
    steps: int = 0
    ran: set[tuple[str, int]] = field(
        default_factory=set
    )  # of the lines that were asked about, in files below the root
    changes: list[Change] = field(default_factory=list)
    updates: list[FirstUpdate] = field(default_factory=list)
    settings: dict[str, bool] = field(default_factory=dict)  # differences of the target that the program set itself
    compiled: list[str] = field(
        default_factory=list
    )  # where torch.compile was called without a compiler for the device
    events: list[list[did.Event]] = field(default_factory=list)  # by process, where they were asked for

    def operator_names(self) -> set[str]:
        return {operator.name for operator in self.operators}


def read(folder: Path, root: str = "") -> Records:
    records = Records(events=did.read(folder))
    for path in sorted(folder.glob("*.stack"), key=_order):
        if where := _innermost(path.read_text(encoding="utf-8", errors="replace"), root):
            records.stuck.append((_order(path)[0], where))
    for path in folder.glob("*.ran"):
        for line in path.read_text(encoding="utf-8").splitlines():
            file, _, number = line.partition("\t")
            records.ran.add((file.removeprefix(root), int(number)))
    operators: dict[tuple[str, str], Operator] = {}
    passed_on: list[Error] = []
    # by rank; of one rank, the process that began first
    for path in sorted(folder.glob("*.jsonl"), key=_order):
        rank = _order(path)[0]
        for row in _rows(path):
            kind, name, value, where = row["kind"], row["name"], row["value"], row["where"]
            if kind in ("loss", "grad_norm", "value"):
                title = " ".join(filter(None, (kind if kind != "value" else "", name)))
                title += f" of rank {rank}" if rank else ""
                records.series.setdefault(title, []).append(Point(float.fromhex(value), where))
            elif kind == "printed":
                title = f"printed {name}" + (f" of rank {rank}" if rank else "")
                records.series.setdefault(title, []).append(written(value, where))
            elif kind == "saved":
                records.saved[f"{name} of rank {rank}" if rank else name] = value
            elif kind == "operator":
                operators[name, where] = _joined(operators.get((name, where)), name, where, value)
            elif kind == "moved":
                counts = value["calls"], value["changed"], float.fromhex(value["furthest"])
                _add(records.changes, Change(name, value["operator"], where, *counts))
            elif kind == "update":
                numbers = (float.fromhex(value[key]) for key in ("size", "distance", "furthest"))
                records.updates.append(FirstUpdate(name, value["parameters"], *numbers))
            elif kind == "setting":
                records.settings[name] = value
            elif kind == "compiled":
                records.compiled.append(where)
            elif kind == "error" and name not in _OF_TORCHRUN:
                error = Error(rank, *_told(name, value["text"], where, root), value["about"])
                (passed_on if name in _PASSED_ON else records.errors).append(error)
            elif kind == "end":
                records.steps = max(records.steps, value["steps"])
    # those that the first one to fail left waiting say nothing new
    first = [error for error in records.errors if "Connection closed by peer" not in error.text]
    records.errors = first or records.errors or passed_on
    records.operators = [operators[key] for key in sorted(operators)]
    return records


def printed_error(output: str, root: str) -> list[Error]:
    """What a process printed that died before anything could be recorded: before it imported torch, say."""
    if "Traceback (most recent call last)" not in output:
        return []
    kind, text, where = _told("", output[output.rindex("Traceback (most recent call last)") :], "", root)
    return [Error(0, kind, text.partition("\n")[0], where)] if kind else []


def written(digits: str, where: str) -> Point:
    mantissa, _, power = digits.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    known = mantissa.strip("+-")[:1] not in ("n", "i")  # nan, inf
    return Point(float(digits), where, 10.0 ** (int(power or 0) - places) if known else 0.0)


def _told(kind: str, text: str, where: str, root: str) -> tuple[str, str, str]:
    """What another process or TorchScript raised stands in the text of what it was raised again as."""
    lines = [line for line in text.splitlines() if not line.startswith("[ERROR]")]  # torch_npu's stamp
    if "Traceback" not in text:
        return kind, "\n".join(lines), where
    raised = [match for match in map(_RAISED.match, lines) if match]
    if raised:
        kind, lines = raised[-1][1].rpartition(".")[2], [raised[-1][2], *lines]
    users = [f"{file[len(root) :]}:{line}" for file, line in _FRAME.findall(text) if _is_users(file, root)]
    return kind, "\n".join(lines), users[-1] if users else where


def _is_users(file: str, root: str) -> bool:
    return file.startswith(root) and "site-packages" not in file


def _innermost(stacks: str, root: str) -> str:
    """The user's line that runs, of what faulthandler wrote; the main thread comes last there."""
    for thread in reversed(stacks.split("\n\n")):
        for file, line in _FRAME.findall(thread):
            if _is_users(file, root):
                return f"{file[len(root) :]}:{line}"
    return ""


def _order(path: Path) -> tuple[int, int]:
    rank, _, pid = path.stem.partition("-")
    return int(rank), int(pid)


def _rows(path: Path) -> Iterator[Json]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # cut off: the process died while writing it
            return


def _add(changes: list[Change], new: Change) -> None:
    """What several processes did at one place is one."""
    for number, old in enumerate(changes):
        if (old.difference, old.operator, old.where) == (new.difference, new.operator, new.where):
            calls, changed = old.calls + new.calls, old.changed + new.changed
            new = replace(new, calls=calls, changed=changed, furthest=max(old.furthest, new.furthest))
            changes[number] = new
            return
    changes.append(new)


def _joined(known: Operator | None, name: str, where: str, value: Json) -> Operator:
    calls, in_steps, shapes, late = value["calls"], value["in_steps"], value["shapes"], set(value["late_shapes"])
    synchronises = value["sync"]
    if known:
        calls, in_steps, shapes = calls + known.calls, in_steps + known.in_steps, max(shapes, known.shapes)
        late, synchronises = late | set(known.late_shapes), synchronises or known.synchronises
    return Operator(
        name, where, value["class"], synchronises, calls, in_steps, value["dtype"], shapes, tuple(sorted(late)[:8])
    )
