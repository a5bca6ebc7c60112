"""A file, or a folder of the files of all ranks, as a Run: its format is found in what it holds. Only event files are known by their name, and tables also by .csv or .tsv."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from porter.compare.lines import Lines, Points, readings_of
from porter.compare.run import Run
from porter.compare.series import LIMIT
from porter.errors import UserError
from porter.files.read import DOCUMENT
from porter.logs.reading import Readable, blocks, opened
from porter.regex import lazy

HEAD = 1 << 16
LONG = 1 << 24  # bytes of a line: the weights of a model are one
FILES, DEPTH = 1024, 5
_SUFFIXES = (".jsonl", ".json", ".log", ".txt", ".csv", ".tsv", ".out", ".gz")
_EVENTS = "tfevents"
_RANK = lazy(r"(?:rank|worker|proc|device)[-_]?(\d{1,5})|^(\d{1,5})$", re.IGNORECASE)
_NAME = lazy(r"[\w ./@()-]{1,80}")
_NUMBER = lazy(r"[\d.e+-]+")


class _Ahead:
    """A stream whose first bytes are looked at before they are read."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.head = b""
        while len(self.head) < HEAD and (more := stream.read(HEAD - len(self.head))):
            self.head += more
        self._left = self.head

    def read(self, size: int, /) -> bytes:
        data, self._left = self._left[:size], self._left[size:]
        return data or self._stream.read(size)


def read(name: str, limit: int = LIMIT) -> Run:
    """Raises UserError: nothing in it is a log of a training."""
    run = _folder(name, limit) if os.path.isdir(name) else _file(name, limit)
    if run is None:
        raise UserError(
            f"{name}: no loss in it that porter can read; give the log of one training, of a format that docs/reference.md lists",
            f"{name}：没有 porter 能读取的 loss；请给出一次训练的日志，格式见 docs/reference.zh.md",
        )
    return run


def _file(name: str, limit: int) -> Run | None:
    if _EVENTS in os.path.basename(name):
        from porter.compare.events import events

        return events(name, limit)
    with opened(name) as stream:
        ahead = _Ahead(stream)
        head = ahead.head
        if not head.strip():
            raise UserError(f"{name}: empty; give the log of a training", f"{name}：文件为空；请给出训练日志")
        if head.startswith(b":W&B"):
            raise UserError(
                f"{name}: an offline run of wandb; export its history as CSV and compare that",
                f"{name}：wandb 离线记录；请先将其历史导出为 CSV 再比较",
            )
        if b"\0" in head:
            raise UserError(f"{name}: binary, not a log; give a log", f"{name}：二进制文件，不是日志；请给出日志")
        if (document := _document(head, ahead)) is not None:
            return _of_document(name, document, limit)
        if name.endswith((".csv", ".tsv")) or _is_table(head):
            return _table(name, ahead, limit)
        return Lines(name, limit).read(blocks(ahead, LONG))


def _document(head: bytes, stream: Readable) -> object | None:
    """A file that is one JSON document, and not a line for each object."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = start.partition(b"\n")[0].strip()
    if first not in (b"{", b"[", b"[{") and b'"log_history"' not in first:
        return None
    data = io.BytesIO()
    while data.tell() <= DOCUMENT and (more := stream.read(HEAD)):
        data.write(more)
    try:
        document: object = json.loads(data.getvalue())
    except (ValueError, RecursionError, MemoryError):
        return {}
    return document


def _of_document(name: str, document: object, limit: int) -> Run | None:
    """trainer_state.json of the HF Trainer, or a list of objects."""
    is_state = isinstance(document, dict) and "log_history" in document
    rows = document["log_history"] if isinstance(document, dict) and is_state else document
    points, ordered = Points(limit), False
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            readings, step = readings_of(row)
            ordered |= step is None and bool(readings)
            points.add(readings, step, None, False)
    return _run(name, "trainer_state" if is_state else "json", points, ordered, is_state)


def _run(name: str, kind: str, points: Points, ordered: bool, averages: bool = False) -> Run | None:
    series = points.choose()
    if not series:
        return None
    run = Run(name, kind, {0: points.rank}, ordered, averages)
    run.notes.append(("series", {"name": series}))
    if ordered:
        run.notes.append(("ordered", {}))
    return run


def _is_table(head: bytes) -> bool:
    """A row of names, and below it a row of as many cells that has a number."""
    rows = head.decode("utf-8-sig", "replace").split("\n", 2)
    names, cells = ([cell.strip(' "\r') for cell in row.split(",")] for row in (*rows, "")[:2])
    named = names[1:] if not names[0] else names  # pandas gives the index no name
    plain = all(_NAME.fullmatch(name) and not _NUMBER.fullmatch(name) for name in named)
    return len(names) > 1 and len(cells) == len(names) and plain and any(map(_NUMBER.fullmatch, cells))


def _table(name: str, stream: Readable, limit: int) -> Run | None:
    """CSV: of Lightning, of timm, or of anybody."""
    points, ordered = Points(limit), False
    texts = (raw.decode("utf-8-sig", "replace") for block in blocks(stream) for raw in block.splitlines())
    try:
        rows = csv.reader((text.rstrip("\x1e") for text in texts), delimiter="\t" if name.endswith(".tsv") else ",")
        names = [cell.strip() for cell in next(rows, [])]
        counted = next((n for n in names if n.lower() == "epoch"), "") if not _has_step(names) else ""
        for row in rows:
            cells = {key: _number(cell) for key, cell in zip(names, row) if cell.strip()}
            if counted and counted in cells:
                cells["step"] = cells[counted]
            readings, step = readings_of({key: cell for key, cell in cells.items() if cell is not None})
            ordered |= step is None and bool(readings)
            if readings:
                points.add(readings, step, None, False)
    except csv.Error:
        pass
    return _run(name, "csv", points, ordered)


def _has_step(names: list[str]) -> bool:
    return any(readings_of({name: 1.0, "loss": 1.0})[1] is not None for name in names)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _folder(name: str, limit: int) -> Run | None:
    """The files of all ranks as one run; where none says its rank, the one that has most losses."""
    files = list(_files(name))
    runs = []
    for file in files:
        try:
            run = _file(os.path.join(name, file), limit if len(files) < 4 else max(limit // len(files) * 4, 1))
        except UserError as error:
            if "[compare]" in str(error):
                raise
            continue
        if run is not None:
            runs.append((file, run))
    owned = [(file, run) for file, run in runs if run.is_own]
    if not runs:
        return None
    numbers = {file: _rank_of(file) for file, _ in runs}
    if not owned and (len(runs) == 1 or len({numbers[file] for file, _ in runs} - {None}) < len(runs)):
        file, run = max(runs, key=lambda pair: (len(pair[1].first.loss), pair[0]))
        run.notes.append(("chosen", {"file": file, "n": len(runs)}))
        run.name = name
        return run
    return _joined(name, owned or runs, numbers)


def _joined(name: str, runs: list[tuple[str, Run]], numbers: dict[str, int | None]) -> Run:
    first = runs[0][1]
    mixed = any(run.mixed for _, run in runs)
    whole = Run(name, first.format, {}, first.ordered, first.averages, mixed, list(first.notes))
    for file, run in runs:
        for number, rank in run.each():
            known = numbers[file] if not run.is_own or not rank.header else None
            at = number if known is None else known
            if at in whole.ranks:
                whole.notes.append(("twice", {"rank": at, "file": file}))
            else:
                whole.ranks[at] = rank
        whole.notes += [note for note in run.notes if note not in whole.notes]
    return whole


def _rank_of(file: str) -> int | None:
    for part in reversed(Path(file).with_suffix("").parts):
        if found := _RANK.search(part):
            return int(found[1] or found[2])
    return None


def _files(name: str) -> Iterator[str]:
    """Paths below a folder that may be logs. Links are not followed."""
    found = []
    for place, folders, files in os.walk(name):
        relative = os.path.relpath(place, name)
        folders[:] = sorted(folders) if relative.count(os.sep) < DEPTH else []
        for file in sorted(files):
            path = os.path.join(place, file)
            if (file.endswith(_SUFFIXES) or _EVENTS in file) and not os.path.islink(path):
                found.append(os.path.normpath(os.path.join(relative, file)))
        if len(found) > FILES:
            break
    yield from sorted(found)[:FILES]
