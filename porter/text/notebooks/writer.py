"""Turns edits of the text of cells into edits of the JSON strings that hold it. Only characters that change are written."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from porter.finding import Change
from porter.regex import lazy
from porter.text.jsonspans import encode
from porter.text.notebooks import magics
from porter.text.notebooks.cells import HALF, Cell, Line, Notebook, pieces

_WORD = lazy(r"\w+|[^\w]")
_MOST = 250_000  # pairs of words to compare; a larger replacement is written in one piece
_COMMA = lazy(r"\s*,\s*")


class Edit(NamedTuple):
    """Characters `start:end` of a cell's text become `new`."""

    cell: int  # its place in the notebook, from 0
    start: int
    end: int
    new: str


class View:
    """The text of a notebook as an engine got it, with the way from its bytes to the text of the cells.

    `shielded`: the Python view, where magics stand behind shields (cells.py). The shell view has none.
    """

    def __init__(self, book: Notebook, text: str, shielded: bool):
        self.book, self.text, self.shielded = book, text, shielded
        self.data = text.encode("utf-8")
        # the continuation bytes of UTF-8; their number before an offset is the distance of bytes and characters
        self._behind = [] if text.isascii() else [m.start() for m in re.finditer(rb"[\x80-\xbf]", self.data)]

    def edits(self, change: Change) -> tuple[Edit, ...] | None:
        """The edits of cells that a change of the view means. None where it would touch a magic, or reach into the next cell.

        `analysis/notebook.py` then leaves the finding to a person, with the reason "magic".
        """
        start, end = (offset - bisect_left(self._behind, offset) for offset in (change.start, change.end))
        edits, book = [], self.book
        old, new = self.text[start:end], change.new.decode("utf-8")
        # if JSON spells the old text as it is, the new text can be written in one piece
        alike = old == book.document.text[book.file_offset(start) : book.file_offset(end, True)]
        for begin, stop, text in [(start, end, new)] if alike else _differences(start, old, new):
            if self._forbidden(begin, stop, text) or (edit := self._edit(begin, stop, text)) is None:
                return None
            edits.append(edit)
        return tuple(edits)

    def _forbidden(self, start: int, end: int, new: str) -> bool:
        book = self.book
        first, last = book.line_at(start), book.line_at(end)
        for number in range(first, last + 1):
            line, begin, shield = book.lines[number], book.starts[number], book.shields[number]
            # half of a surrogate pair stands in the view as \ufffd
            if HALF.search(line.body) and ("\ufffd" in new or "\ufffd" in self.text[start:end]):
                return True
            if self.shielded and shield is not None and _touches(line, shield, start - begin, end - begin, new):
                return True
        return False

    def _edit(self, start: int, end: int, new: str) -> Edit | None:
        book = self.book
        first = len(book.lines) if start == book.starts[-1] else book.line_at(start)
        if (
            start == end
            and new.endswith("\n")
            and first
            and (first == len(book.lines) or book.lines[first].number == 1 and _has_code(book, first - 1))
        ):
            # what is put below the last line of a cell belongs to that cell
            above = book.lines[first - 1]
            size = len(above.cell.text)
            return Edit(above.cell.number - 1, size, size, _ended(above, new if above.end else f"\n{new[:-1]}"))
        last = book.line_at(end)
        if end > start and end == book.starts[last] and book.lines[last].number == 1 or end == book.starts[-1]:
            if not new.endswith("\n") or end == start:
                return None  # two cells would become one
            end, new = end - 1, new[:-1]
            last = book.line_at(end)
        line, other = book.lines[first], book.lines[last]
        if line.cell is not other.cell:
            return None
        begin, stop = line.start + start - book.starts[first], other.start + end - book.starts[last]
        return Edit(line.cell.number - 1, begin, stop, _ended(line, new))


def _has_code(book: Notebook, last: int) -> bool:
    """Whether something but magics, comments and empty lines stands in the cell whose last line this is: else nothing is put
    below it."""
    cell = book.lines[last].cell
    while last >= 0 and book.lines[last].cell is cell:
        text = book.python[last].strip()
        if text and not text.startswith("#") and book.shields[last] is None:
            return True
        last -= 1
    return False


def _touches(line: Line, shield: int, start: int, end: int, new: str) -> bool:
    """Whether an edit of these columns changes what stands behind the shield, or how IPython reads the line."""
    size = len(line.body)
    if end <= 0:  # above it
        return not new.endswith("\n") if end == 0 else False
    if start >= size:  # below it
        return not new.startswith("\n") if start == size else False
    if start < 0 or end > shield or "\n" in new:
        return True
    before = magics.stand_in(line.body)
    after = magics.stand_in(line.body[:start] + new + line.body[end:])
    if before is None or after is None:
        return True
    return (after[0] - before[0], after[1]) != (len(new) - (end - start), before[1])


def _ended(line: Line, new: str) -> str:
    """The text with the line ends of the cell."""
    if "\n" not in new:
        return new
    end = line.end or (pieces(line.cell.text)[0][1] or "\n")
    return new.replace("\n", end)


def _differences(start: int, old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """The words that differ, each as a replacement: (start, end, new)."""
    limit, head, tail = min(len(old), len(new)), 0, 0
    while head < limit and old[head] == new[head]:
        head += 1
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start, old, new = start + head, old[head : len(old) - tail], new[head : len(new) - tail]
    before, after = _WORD.findall(old), _WORD.findall(new)
    if len(before) * len(after) > _MOST or not before or not after:
        if old or new:
            yield start, start + len(old), new
        return
    word_starts = [start]
    for word in before:
        word_starts.append(word_starts[-1] + len(word))
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield word_starts[i], word_starts[j], "".join(after[k:m])


def written(book: Notebook, edits: Iterable[Edit]) -> tuple[Change, ...]:
    """The same edits in bytes of the file."""
    document, changes = book.document, []
    for edit in _joined(sorted(edits)):
        start, end, new = _raw(book, book.cells[edit.cell], edit)
        changes.append(Change(document.byte(start), document.byte(end), new.encode("utf-8")))
    return tuple(sorted(changes))


def _joined(edits: list[Edit]) -> Iterator[Edit]:
    """Joins deletions that touch each other."""
    pending: Edit | None = None
    for edit in edits:
        if pending and pending.cell == edit.cell and pending.end == edit.start and not pending.new and not edit.new:
            pending = pending._replace(end=edit.end)
            continue
        if pending:
            yield pending
        pending = edit
    if pending:
        yield pending


def _raw(book: Notebook, cell: Cell, edit: Edit) -> tuple[int, int, str]:
    """The edit in characters of the file. `bare` and `listed` are explained in cells.py."""
    start, end, new = edit.start, edit.end, edit.new
    first, last = cell.literal_at(start), max(cell.literal_at(end - 1), 0)
    if start == end:
        if first and start == cell.starts[first] and not cell.bare and not new.endswith(("\n", "\r")):
            first -= 1  # text that goes on behind the end of the string before
        last = first
    literals = cell.literals[first : last + 1]
    head, tail = start - cell.starts[first], min(end - cell.starts[last], len(literals[-1].text))
    whole = (not head, tail == len(literals[-1].text))
    begin, stop = literals[0].offset(min(head, len(literals[0].text))), literals[-1].offset(tail)
    escaped = all(literal.ascii for literal in literals) and any(literal.escaped for literal in literals)
    # the source is one string, or a string holds several lines: the text changes within the string
    if not cell.listed or any(literal.many for literal in literals):
        return begin, stop, encode(new, escaped)[1:-1]
    # whole strings are deleted, with what separates them from a neighbour
    if not new and all(whole) and len(cell.literals) > len(literals):
        if last + 1 < len(cell.literals):
            return literals[0].node.start, cell.literals[last + 1].node.start, ""
        return cell.literals[first - 1].node.end, literals[-1].node.end, ""
    # each line of the new text becomes a string of its own
    between = f'"{_between(book, cell, first)}"'
    parts = [text if cell.bare else text + line_end for text, line_end in pieces(new)]
    spelt = between.join(encode(part, escaped)[1:-1] for part in parts)
    if start == end and whole[1] and not whole[0] and literals[0].text.endswith(("\n", "\r")):
        spelt = between + spelt
    if new.endswith(("\n", "\r")) and (cell.bare or not whole[1]):
        spelt += between
    return begin, stop, spelt


def _between(book: Notebook, cell: Cell, number: int) -> str:
    """What stands between two strings of a source: a comma, and the line end and indent that this file uses."""
    text, document = book.document.text, book.document
    if (index := min(number, len(cell.literals) - 2)) >= 0:
        between = text[cell.literals[index].node.end : cell.literals[index + 1].node.start]
        if _COMMA.fullmatch(between):
            return between
    node = cell.literals[number].node
    begin, indent = document.starts[document.place(node.start)[0] - 1], document.indent(node.start)
    if indent is None or not begin:
        return ", "
    end = "\r\n" if text[begin - 2 : begin] == "\r\n" else text[begin - 1]
    return f",{end}{indent}"
