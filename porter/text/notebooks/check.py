"""The last look before the edits of a notebook go out: read again, it is the old one with the edits, and nothing else."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from porter.errors import Unreadable
from porter.finding import Change, apply
from porter.text.document import Document
from porter.text.notebooks.cells import CODING, Cell, Notebook, read
from porter.text.notebooks.writer import Edit


def fault(book: Notebook, python: set[Edit], shell: set[Edit], changes: tuple[Change, ...]) -> str:
    """What is not as it has to be; "" where all is well."""
    document = book.document
    if any(a.end > b.start for a, b in itertools.pairwise(changes)):
        return "overlap"
    try:
        again = read(Document(document.path, apply(document.data, changes), document.kind, document.session, ""))
    except Unreadable as error:
        return error.error
    if [_around(book), len(book.cells)] != [_around(again), len(again.cells)] or again.document.bom != document.bom:
        return "JSON"
    by_cell = _by_cell(python | shell)
    for number, (old, new) in enumerate(zip(book.cells, again.cells)):
        if not _is_ported(book, again, old, new, by_cell.get(number, [])):
            return f"cell {number + 1}"
    return "magics" if _magics(book, _by_cell(shell)) != _magics(again, {}) else ""


def _by_cell(edits: set[Edit]) -> dict[int, list[Edit]]:
    by_cell: dict[int, list[Edit]] = {}
    for edit in sorted(edits):
        by_cell.setdefault(edit.cell, []).append(edit)
    return by_cell


def _around(book: Notebook) -> str:
    """All of the JSON but the sources of its code."""
    text, offset, out = book.document.text, 0, []
    for cell in book.cells:
        out.append(text[offset : cell.source.start])
        offset = cell.source.end
    return "\0".join([*out, text[offset:]])


def _is_ported(book: Notebook, again: Notebook, old: Cell, new: Cell, edits: list[Edit]) -> bool:
    """The text is the old one with the edits, and what they leave alone is spelt as it was, escapes included."""
    if not edits:
        return _spelt(book, old, 0, len(old.text)) == _spelt(again, new, 0, len(new.text)) and old.text == new.text
    if _applied(old.text, 0, edits) != new.text:
        return False
    return all(
        _spelt(book, old, start, end) == _spelt(again, new, start + moved, end + moved)
        for start, end, moved in _kept(old, edits)
    )


def _applied(text: str, begin: int, edits: list[Edit]) -> str:
    """A part of a cell's text, which begins at `begin`, after edits inside it."""
    out: list[str] = []
    offset = 0
    for edit in edits:
        out += (text[offset : edit.start - begin], edit.new)
        offset = edit.end - begin
    return "".join([*out, text[offset:]])


def _kept(cell: Cell, edits: list[Edit]) -> Iterator[tuple[int, int, int]]:
    """What lies between the edits, and by how much they move it."""
    offset = moved = 0
    for edit in edits:
        yield offset, edit.start, moved
        offset, moved = edit.end, moved + len(edit.new) - (edit.end - edit.start)
    yield offset, len(cell.text), moved


def _spelt(book: Notebook, cell: Cell, start: int, end: int) -> str:
    return book.document.text[cell.begin(start) : cell.end(end)] if start < end else ""


def _magics(book: Notebook, shell: dict[int, list[Edit]]) -> list[str]:
    """Every line, or part of one, that only a notebook understands, with the edits of the shell in it."""
    parts = []
    for line, shield in zip(book.lines, book.shields):
        if shield is not None and not CODING.match(line.body):  # that one may move below the second line
            edits, start = shell.get(line.cell.number - 1, []), line.start + shield
            first = bisect_left(edits, start, key=lambda edit: edit.start)
            last = bisect_right(edits, line.start + len(line.body), key=lambda edit: edit.start)
            parts.append(_applied(line.body[shield:], start, edits[first:last]))
    return parts
