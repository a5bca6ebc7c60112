"""What a run wrote into log files of its tree: CSV, JSON lines, TensorBoard events. Only what was not there before counts."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from porter.verify.events import scalars
from porter.verify.records import Point, written
from porter.verify.runtime.named_numbers import is_gauge, numbers

_EVENTS = "events.out.tfevents."
_SUFFIXES = (".csv", ".tsv", ".jsonl")
_LARGEST = 16 << 20
_LEFT_OUT = ("__pycache__", "node_modules", "site-packages")
_NUMBERED = re.compile(r"\d[\d.:_-]*\d")  # of a time, a process, a run: another one in every run


@dataclass(frozen=True, slots=True)
class Logs:
    """The log files of a tree, as they were at one time."""

    folders: tuple[Path, ...]
    seen: dict[Path, tuple[int, int, bytes]]  # time of the last change, size, the end

    @classmethod
    def of(cls, *folders: Path) -> Logs:
        kept = [f for f in folders if not any(f != other and f.is_relative_to(other) for other in folders)]
        found = [path for folder in kept for path in _files(folder)]
        return cls(tuple(dict.fromkeys(kept)), {path: (*_state(path), _end(path)) for path in found})

    def since(self, known: Collection[str]) -> dict[str, list[Point]]:
        """Series by the name of their file, and in it; a tag of TensorBoard that is `known` was seen as it was logged."""
        series: dict[str, list[Point]] = {}
        names: dict[str, int] = {}
        for folder in self.folders:
            for path in _files(folder):
                changed, size, end = self.seen.get(path, (0, 0, b""))
                if changed == _state(path)[0]:
                    continue
                data = path.read_bytes()
                # what an earlier run had written, where this one went on in the same file
                skip = size if size < len(data) and data[:size].endswith(end) else 0
                name = _NUMBERED.sub("#", path.relative_to(folder).as_posix().partition(_EVENTS)[0]).rstrip("/")
                names[name] = count = names.get(name, 0) + 1
                title = (name or "events") + (f" ({count})" if count > 1 else "")
                for key, point in _read(path, data, skip):
                    if not is_gauge(key) and not (path.name.startswith(_EVENTS) and key in known):
                        series.setdefault(f"{title} {key}", []).append(point)
        return series


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
        for name in sorted(files):
            path = Path(place, name)
            if (name.startswith(_EVENTS) or name.endswith(_SUFFIXES)) and not path.is_symlink():
                if path.stat().st_size <= _LARGEST:
                    yield path


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _end(path: Path) -> bytes:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 256))
        return stream.read()


def _read(path: Path, data: bytes, skip: int) -> Iterator[tuple[str, Point]]:
    if path.name.startswith(_EVENTS):
        for tag, step, value in scalars(data[skip:]):
            yield tag, Point(value, f"{path.parent.name}/{path.name}, step {step}")
        return
    text, first = data.decode("utf-8", "replace"), data[:skip].count(b"\n")
    if path.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if number > first:
                yield from ((key, written(digits, f"{path.name}:{number}")) for key, digits in numbers(line))
        return
    yield from _columns(path, text, first)


def _columns(path: Path, text: str, first: int) -> Iterator[tuple[str, Point]]:
    """Those of which each cell is a number, or empty, below a row of names."""
    lines = ((n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#"))
    numbered = list(lines)
    rows = list(csv.reader((line for _, line in numbered), delimiter="\t" if path.suffix == ".tsv" else ","))
    if len(rows) != len(numbered) or not rows or any(map(_is_number, rows[0])):
        return
    for column, name in enumerate(rows[0]):
        cells = [(n, row[column].strip()) for (n, _), row in zip(numbered[1:], rows[1:]) if column < len(row)]
        if name.strip() and all(not cell or _is_number(cell) for _, cell in cells):
            for number, cell in cells:
                if cell and number > first:
                    yield name.strip(), written(cell, f"{path.name}:{number}")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
