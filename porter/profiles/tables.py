"""A CSV of a profiler, row by row: bounded memory, and a place for whatever is wrong."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from porter.files.read import opened
from porter.profiles import errors

LONG = 1 << 22  # characters of a line: call stacks are long, none is so long
_ABSENT = frozenset(("", "N/A", "NA", "None", "nan"))


class Table:
    """The rows of a file; `columns` says where each stands."""

    def __init__(self, file: str, needed: tuple[str, ...]) -> None:
        self.file, self.needed = file, needed
        self.columns: dict[str, int] = {}
        self.width = 0  # two columns may have one name
        self.line = 1

    def rows(self) -> Iterator[list[str]]:
        with opened(self.file) as (raw, _):
            lines = _lines(io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline=""), self)
            csv.field_size_limit(max(LONG, csv.field_size_limit()))  # of all readers: Python has no other
            reader = csv.reader(lines)
            try:
                self._header(next(reader, []))
                for row in reader:
                    if len(row) == self.width:
                        yield row
                    elif any(cell.strip() for cell in row):
                        raise errors.row(
                            self.file,
                            self.line,
                            f"{len(row)} values for {self.width} columns",
                            f"有 {self.width} 列，却有 {len(row)} 个值",
                        )
            except csv.Error as error:
                raise errors.row(self.file, self.line, str(error), str(error)) from None

    def number(self, row: list[str], column: str) -> float | None:
        """What stands there; None where the profiler has nothing to say, or the table has no such column."""
        at = self.columns.get(column)
        if at is None:
            return None
        text = row[at].strip()
        if text in _ABSENT:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise errors.row(self.file, self.line, f"{column}: {text!r} is no number", f"{column}：{text!r} 不是数字")
        return value

    def text(self, row: list[str], column: str) -> str:
        at = self.columns.get(column)
        return "" if at is None else row[at].strip()

    def _header(self, header: list[str]) -> None:
        self.columns, self.width = {name.strip(): at for at, name in enumerate(header)}, len(header)
        for name in self.needed:
            if name not in self.columns:
                raise errors.column(self.file, name)


def _lines(stream: io.TextIOWrapper, table: Table) -> Iterator[str]:
    table.line = 0
    while line := stream.readline(LONG):
        table.line += 1
        if len(line) == LONG and not line.endswith("\n"):
            raise errors.row(table.file, table.line, "a line without an end", "行过长")
        if "\0" in line:
            raise errors.row(table.file, table.line, "a NUL: this is no text", "含有 NUL 字符，不是文本")
        yield line
