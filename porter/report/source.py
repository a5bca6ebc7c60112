"""Lines of the source around findings, and edits in lines and columns: what makes a report readable elsewhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from porter.files.documents import Json
from porter.finding import Change, Finding, apply
from porter.report.diff import shared

AROUND = 2  # lines above and below a finding
MOST = 12  # lines of one finding
WIDEST = 400  # characters of a line; of a longer one a window is kept


class Replaced(NamedTuple):
    """Lines that an edit takes away, and those it puts there."""

    line: int  # of the first; where none are taken away, those that are put there stand above it
    old: list[str]
    new: list[str]


class Text:
    """The bytes of one file as lines and columns. What cannot be decoded is shown as escapes, never refused."""

    def __init__(self, data: bytes):
        self.data = data
        self.encoding, self.bom = _encoding(data)
        self.rows = data.splitlines(keepends=True)  # of bytes, it knows the line ends that Python knows
        self.starts = [0, *accumulate(map(len, self.rows))]

    def line(self, number: int) -> str:
        row = self.rows[number - 1].rstrip(b"\r\n") if number <= len(self.rows) else b""
        return self._decoded(row[self.bom :] if number == 1 else row)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, the column in characters."""
        line = min(bisect_right(self.starts, offset), max(len(self.rows), 1))
        start = self.starts[line - 1] + (self.bom if line == 1 else 0)
        return line, len(self._decoded(self.data[start:offset])) + 1

    def edit(self, changes: Iterable[Change]) -> list[Json]:
        edits = []
        for change in changes:
            (line, column), (end_line, end_column) = self.place(change.start), self.place(change.end)
            where = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
            edits.append({**where, "text": self._decoded(change.new)})
        return edits

    def replaced(self, changes: Iterable[Change]) -> list[Replaced]:
        """What the changes do to whole lines; lines that touch each other are replaced together."""
        groups: list[tuple[int, int, list[Change]]] = []
        for change in sorted(changes):
            first, last = self.place(change.start)[0], self.place(change.end)[0]
            if groups and first <= groups[-1][1] + 1:
                first, behind, together = groups.pop()
                groups.append((first, max(behind, last), [*together, change]))
            else:
                groups.append((first, last, [change]))
        replaced = [self._replaced(*group) for group in groups]
        return [block for block in replaced if block.old or block.new]

    def _replaced(self, first: int, last: int, changes: list[Change]) -> Replaced:
        low = self.starts[first - 1] + (self.bom if first == 1 else 0)
        data = self.data[low : self.starts[min(last, len(self.rows))]]
        moved = tuple(Change(change.start - low, change.end - low, change.new) for change in changes)
        old, new = ([self._decoded(row) for row in side.splitlines()] for side in (data, apply(data, moved)))
        head, tail = shared(old, new)
        return Replaced(first + head, old[head : len(old) - tail], new[head : len(new) - tail])

    def _decoded(self, data: bytes) -> str:
        return data.decode(self.encoding, "backslashreplace")


def _encoding(data: bytes) -> tuple[str, int]:
    from porter.errors import Unreadable
    from porter.python.stored import Stored

    try:
        stored = Stored(data)
        return stored.encoding, len(stored.bom)
    except Unreadable:
        return "utf-8", 0


def runs(text: Text, findings: Sequence[Finding], edits: Sequence[list[Json]]) -> list[Json]:
    """Runs of lines, in order: those that the findings and their edits touch, with what stands around them; long ones cut."""
    wanted: set[int] = set()
    columns: dict[int, int] = {}
    for finding, edit in zip(findings, edits):
        last_line = min(max(finding.end_line, finding.line), finding.line + MOST)
        wanted.update(range(finding.line - AROUND, last_line + AROUND + 1))
        columns[finding.line] = min(columns.get(finding.line, finding.column), finding.column)
        for change in edit:
            wanted.update(range(change["line"] - 1, min(change["end_line"], change["line"] + MOST) + 2))
            columns.setdefault(change["line"], change["column"])
    runs: list[Json] = []
    for number in sorted(n for n in wanted if 1 <= n <= len(text.rows)):
        if not runs or number != runs[-1]["line"] + len(runs[-1]["text"]):
            runs.append({"line": number, "text": []})
        shown, start = _cut(text.line(number), columns.get(number, 1))
        runs[-1]["text"].append(shown)
        if start > 1 or len(shown) == WIDEST:
            runs[-1].setdefault("cut", {})[str(number)] = start
    return runs


def _cut(line: str, column: int) -> tuple[str, int]:
    """At most WIDEST characters with `column` among them, and the column of the first."""
    if len(line) < WIDEST:
        return line, 1
    start = max(0, min(column - 1 - WIDEST // 4, len(line) - WIDEST))
    return line[start : start + WIDEST], start + 1
