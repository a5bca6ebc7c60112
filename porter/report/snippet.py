"""A place of the source for a terminal: its line, a mark under the place, and the lines that its edit puts there."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from porter.finding import Finding
from porter.report.diff import shared
from porter.report.sanitise import line as visible
from porter.report.source import Replaced, Text
from porter.terminal import STYLES, Line, columns

MOST = 6  # lines that one edit takes away, and that it puts there
TAB = 4
_NEAR = 400  # characters of a line on each side of the place: nobody's screen is wider


class _Part(NamedTuple):
    """Which characters of a line are the point of it."""

    start: int
    end: int


def snippet(text: Text, finding: Finding, width: int) -> list[Line]:
    """Nothing where the file has no such line."""
    if not 1 <= finding.line <= len(text.rows):
        return []
    blocks = text.replaced(finding.edit)
    if not any(block.line <= finding.line < block.line + len(block.old) for block in blocks):
        blocks = sorted([*blocks, Replaced(finding.line, [], [])], key=lambda block: (block.line, bool(block.old)))
    wide = len(str(max(block.line + max(len(block.old) - 1, 0) for block in blocks)))
    sheet = _Sheet(text, finding, wide, width)
    rows: list[Line] = []
    for number, block in enumerate(blocks):
        if number and block.line > blocks[number - 1].line + max(len(blocks[number - 1].old), 1):
            rows.append([("." * wide, "dim")])
        rows += sheet.replaced(block) if block.old or block.new else sheet.place("|")
    return rows


class _Sheet:
    def __init__(self, text: Text, finding: Finding, wide: int, width: int):
        self.text, self.finding, self.wide = text, finding, wide
        self.room = width - wide - len(" | ")

    def replaced(self, block: Replaced) -> list[Line]:
        rows: list[Line] = []
        lefts = [self._left(block, at) for at in range(min(len(block.old), len(block.new)))]
        for at, old in enumerate(block.old):
            left = lefts[at] if at < len(lefts) else 0
            number = block.line + at
            if number == self.finding.line:
                rows += self.place("-", left)
            elif at < MOST:
                rows.append(self._row(number, "-", _window(old, _Part(left, len(old)), self.room, left).text, "red"))
        rows += self._more(len(block.old))
        for at, new in enumerate(block.new[:MOST]):
            left = lefts[at] if at < len(lefts) else 0
            rows.append(self._row(0, "+", _window(new, _Part(left, len(new)), self.room, left).text, "green"))
        return rows + self._more(len(block.new))

    def place(self, sign: str, left: int | None = None) -> list[Line]:
        part = self._marked()
        line = self.text.line(self.finding.line)
        shown = _window(line, part, self.room, _left(line, part, self.room) if left is None else left)
        mark = " " * shown.before + "^" * shown.marked
        return [
            self._row(self.finding.line, sign, shown.text, "red" if sign == "-" else ""),
            [(f"{'':>{self.wide}} {'|' if sign == '|' else ' '} ", "dim"), (mark, STYLES[self.finding.severity])],
        ]

    def _marked(self) -> _Part:
        """Of the first line of the finding."""
        start, line = self.finding.column - 1, self.text.line(self.finding.line)
        end = len(line.rstrip()) if self.finding.end_line > self.finding.line else self.finding.end_column - 1
        return _Part(start, max(end, start + 1))

    def _left(self, block: Replaced, at: int) -> int:
        """Where a line and its counterpart begin to be shown: under each other, with what differs in both."""
        old, new = block.old[at], block.new[at]
        head, tail = shared(old, new)
        left = max(_left(line, _Part(head, len(line) - tail), self.room) for line in (old, new))
        return min(left, self._marked().start) if block.line + at == self.finding.line else left

    def _row(self, number: int, sign: str, text: str, style: str) -> Line:
        return [(f"{number or '':>{self.wide}} ", "dim"), (sign, style or "dim"), (f" {text}", style)]

    def _more(self, count: int) -> list[Line]:
        return [[("." * self.wide, "dim")]] if count > MOST else []


class _Window(NamedTuple):
    text: str
    before: int  # columns in front of the part
    marked: int  # columns of the part, at least one


def _left(line: str, part: _Part, room: int) -> int:
    """The first character that is shown, so that `part` is seen: the first of all wherever there is room for both."""
    first = max(part.start - _NEAR, 0)
    cells = _cells(line[first : part.end + _NEAR])
    ends = [0, *accumulate(map(columns, cells))]
    start, end = part.start - first, min(part.end - first, len(cells))
    if not first and (ends[-1] <= room or ends[end] < room):
        return 0
    # a third of the room for what stands in front, and more where the line ends soon
    spare = max(room // 3, room - 2 - (ends[-1] - ends[start]))
    return first + next((at for at in range(start) if ends[start] - ends[at] <= spare), start)


def _window(line: str, part: _Part, room: int, left: int) -> _Window:
    """As much of a line as has room; what a terminal would obey is spelled out."""
    cells = _cells(line[left : left + _NEAR])
    ends = [0, *accumulate(map(columns, cells))]
    head = "…" if left else ""
    goes_on = len(line) > left + len(cells) or ends[-1] > room - len(head)
    space = room - len(head) - goes_on
    right = next(at for at in range(len(cells), -1, -1) if ends[at] <= space)
    start, end = (max(0, min(at - left, right)) for at in part)
    return _Window(
        head + "".join(cells[:right]) + ("…" if goes_on else ""),
        len(head) + ends[start],
        max(ends[end] - ends[start], 1),
    )


def _cells(line: str) -> list[str]:
    """What each character is shown as."""
    cells: list[str] = []
    column = 0
    for character in line:
        cells.append(" " * (TAB - column % TAB) if character == "\t" else visible(character))
        column += columns(cells[-1])
    return cells
