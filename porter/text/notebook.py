"""Notebooks: the code cells are one module for the Python engine; only lines that change are written back."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from porter.finding import Change, FileResult, Finding, apply
from porter.own import Unreadable, own
from porter.python.analyse import analyse as analyse_python
from porter.session import Session
from porter.text.document import Document
from porter.text.jsonspans import Node, encode, parse

_MAGIC = re.compile(r"[ \t]*(?:[%!?]|[A-Za-z_][\w.]*\?{1,2}[ \t]*$|(?:[\w.,\[\]'\" ]+=)[ \t]*([%!])(?![=]))")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_PYTHON_CELLS = ("time", "timeit", "capture", "prun", "cython_inline")  # magics whose cell is Python


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a code cell, and the JSON string it stands in."""

    cell: int  # from 1, counting the code cells alone
    number: int  # in its cell, from 1
    text: str  # with its line end, if it has one
    token: Node
    first: bool  # of its token
    listed: bool  # a cell's source is a list of lines, or one string for all


@dataclass(frozen=True)
class Notebook:
    document: Document
    lines: tuple[Line, ...]

    hidden: frozenset[int] = frozenset()  # cells that are no Python

    @property
    def source(self) -> bytes:
        return "".join(_as_python(self.lines, self.hidden)).encode("utf-8", "surrogatepass")


def analyse(result: FileResult, data: bytes, session: Session) -> FileResult:
    """Raises Unreadable where it is no notebook."""
    path = result.path
    document = Document(path, data, "notebook", session, "")
    book = _read(document)
    module = book.source
    broken = {}
    if not parses(module):  # the other cells are none the worse for it
        broken = {cell: line for cell, text, line in _cells(book) if not parses(text)}
        book = replace(book, hidden=frozenset(broken))
        module = book.source
    # the engine's own promises hold for the module; what goes back into the JSON is checked below
    found = analyse_python(path, module, session)
    placed = {change: _placed(book, module, (change,)) for f in found.findings for change in f.edit}
    auto, review = (_placed(book, module, changes) for changes in (found.auto, found.review))
    findings = []
    for finding in found.findings:
        edit = tuple(sorted({change for one in finding.edit for change in placed[one]}))
        findings.append(_moved(book, replace(finding, edit=edit)))
    for line in broken.values():
        findings.append(_moved(book, own(path, line, "PRT002", "cell", session)))
    for changes in (auto, review):
        _check(book, changes)
    sites = tuple(site._replace(line=_line(book, site.line)) for site in found.sites)
    findings = tuple(sorted(findings))
    shared = {"apis": found.apis, "sites": sites, "ties": found.ties}
    return replace(result, parsed=True, findings=findings, auto=auto, review=review, **shared)


def _line(book: Notebook, number: int) -> int:
    """Of the file, for a line of the module."""
    return book.document.place(book.lines[number - 1].token.start)[0]


def _read(document: Document) -> Notebook:
    tree = parse(document.text)
    cells = tree.get("cells") if tree.kind == "object" else None
    if cells is None and tree.kind == "object" and (sheets := tree.get("worksheets")):  # format 3
        cells = sheets.items[0].get("cells") if sheets.items else None
    if cells is None:
        raise Unreadable("text", "JSON, but no notebook: it has no cells")
    lines: list[Line] = []
    number = 0
    for cell in cells.items:
        kind = cell.get("cell_type")
        source = cell.get("source") or cell.get("input")
        if kind is None or kind.value != "code" or source is None:
            continue
        number += 1
        tokens = source.items if source.kind == "array" else [source]
        at = 0
        for token in tokens:
            if token.kind != "string":
                raise Unreadable("text", "a code cell whose source is no text")
            for n, text in enumerate(str(token.value).splitlines(keepends=True)):
                at += 1
                lines.append(Line(number, at, text, token, n == 0, source.kind == "array"))
    return Notebook(document, tuple(lines))


def parses(module: bytes) -> bool:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(module)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _cells(book: Notebook) -> Iterator[tuple[int, bytes, int]]:
    """Number, text and first line in the module of every code cell."""
    texts = list(_as_python(book.lines, frozenset()))
    first = 0
    for at in range(1, len(texts) + 1):
        if at == len(texts) or book.lines[at].cell != book.lines[first].cell:
            yield book.lines[first].cell, "".join(texts[first:at]).encode("utf-8", "surrogatepass"), first + 1
            first = at


def _as_python(lines: tuple[Line, ...], hidden: frozenset[int]) -> Iterator[str]:
    """The same lines, with what only a notebook understands made a comment of the same length."""
    foreign = 0  # the cell that begins with a magic for another language
    goes_on = False  # whether the line before is a command that ends in a backslash
    for line in lines:
        if line.number == 1:
            goes_on = False
            found = _CELL_MAGIC.match(line.text)
            foreign = line.cell if found and found[1] not in _PYTHON_CELLS else 0
        body = line.text.rstrip("\r\n")  # the last line of a cell has no end of its own
        if line.cell == foreign or line.cell in hidden:
            yield _hidden(body) + "\n"
            continue
        plain = _hidden(body) if goes_on else _without_magic(body)
        goes_on = (goes_on or plain != body) and body.endswith("\\")
        yield plain + "\n"


def _hidden(body: str) -> str:
    return "#" + body[1:] if body else body


def _without_magic(body: str) -> str:
    found = _MAGIC.match(body)
    if not found:
        return body
    start = found.start(1) if found[1] else len(body) - len(body.lstrip())
    size = len(body) - start
    # a statement stays where one was: an `if` may have no other
    stand_in = "0" if found[1] or size < 5 else "pass"
    rest = size - len(stand_in)
    return body[:start] + stand_in + ("#" + body[start + len(stand_in) + 1 :] if rest else "")


def _moved(book: Notebook, finding: Finding) -> Finding:
    """Where it stands in the file, and in which line of which cell."""
    if not book.lines:
        return finding
    line = book.lines[min(finding.line, len(book.lines)) - 1]
    start = book.document.place(line.token.start)
    column = start[1] if not line.first else start[1] + finding.column
    last = book.lines[min(max(finding.end_line, finding.line), len(book.lines)) - 1]
    end = book.document.place(last.token.end)
    values = tuple(sorted({**dict(finding.values), "cell": str(line.cell), "cell_line": str(line.number)}.items()))
    return replace(finding, line=start[0], column=column, end_line=end[0], end_column=end[1], values=values)


def _placed(book: Notebook, module: bytes, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Edits of the module as edits of the JSON strings in which its lines stand."""
    if not changes:
        return ()
    starts = [0]
    for line in module.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    out: dict[int, dict[int, str]] = {}  # token -> line -> its new text
    # a line that is inserted belongs below the one above it, in its cell, and not above what the next cell begins with
    changes = tuple(
        Change(c.start - 1, c.start - 1, b"\n" + c.new[:-1])
        if c.start == c.end and c.start in starts[1:] and c.new.endswith(b"\n")
        else c
        for c in changes
    )
    for group in _by_lines(changes, starts):
        first = bisect_right(starts, group[0].start) - 1
        last = max(first, bisect_right(starts, max(group[-1].end - 1, group[-1].start)) - 1)
        first, last = min(first, len(book.lines) - 1), min(last, len(book.lines) - 1)
        begin, end = starts[first], starts[last + 1]
        new = apply(module[begin:end], tuple(Change(c.start - begin, c.end - begin, c.new) for c in group))
        _put(book, first, last, module[begin:end].decode("utf-8"), new.decode("utf-8"), out)
    return _rewritten(book, out)


def _by_lines(changes: tuple[Change, ...], starts: list[int]) -> Iterator[list[Change]]:
    """Changes that touch the same line belong together."""
    group: list[Change] = []
    for change in changes:
        if group and bisect_right(starts, change.start) > bisect_right(starts, max(group[-1].end - 1, group[-1].start)):
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _put(book: Notebook, first: int, last: int, old: str, new: str, out: dict[int, dict[int, str]]) -> None:
    """Lines first..last of the book become the text `new`. Lines that stay as they were are left alone."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    while len(before) > 1 and len(after) > 1 and before[-1] == after[-1]:
        before, after, last = before[:-1], after[:-1], last - 1
    while len(before) > 1 and len(after) > 1 and before[0] == after[0]:
        before, after, first = before[1:], after[1:], first + 1
    if len(before) == len(after):
        texts = dict(zip(range(first, last + 1), after))
    else:  # more or fewer lines than there were: all of them where the first stood
        texts = {first: "".join(after), **{n: "" for n in range(first + 1, last + 1)}}
    for number, text in texts.items():
        line = book.lines[number]
        if text and not line.text.endswith(("\n", "\r")):
            text = text.removesuffix("\n")  # the last line of a cell has no end
        elif text and line.text.endswith("\r\n"):
            text = re.sub(r"(?<!\r)\n", "\r\n", text)
        if text != line.text:
            out.setdefault(line.token.start, {})[number] = text


def _rewritten(book: Notebook, out: dict[int, dict[int, str]]) -> tuple[Change, ...]:
    document, changes = book.document, []
    by_token: dict[int, list[int]] = {}
    for number, line in enumerate(book.lines):
        by_token.setdefault(line.token.start, []).append(number)
    for at, texts in sorted(out.items()):
        token = book.lines[by_token[at][0]].token
        literal = document.text[token.start : token.end]
        lines = [texts.get(n, book.lines[n].text) for n in by_token[at]]
        listed = book.lines[by_token[at][0]].listed
        pieces = "".join(lines).splitlines(keepends=True) if listed else ["".join(lines)]
        between = _between(document, token)
        new = between.join(encode(piece, literal) for piece in pieces) if pieces else '""'
        changes.append(
            Change(document.byte(token.start), document.byte(token.end), new.encode("utf-8", "surrogatepass"))
        )
    return tuple(changes)


def _between(document: Document, token: Node) -> str:
    """What stands between two lines of a cell: a comma, and the line end and indent that this file uses."""
    line, column = document.place(token.start)
    indent = document.text[document.starts[line - 1] : token.start]
    return f",{document.newline}{indent}" if not indent.strip() else ", "


def _check(book: Notebook, changes: tuple[Change, ...]) -> None:
    """Everything but the source of code cells is what it was; a fault here is porter's own."""
    if not changes:
        return
    data = apply(book.document.data, changes)
    again = _read(Document(book.document.path, data, "notebook", book.document.session, ""))
    import json

    old, new = json.loads(book.document.data), json.loads(data)
    for tree in (old, new):
        cells = tree["cells"] if "cells" in tree else tree["worksheets"][0]["cells"]
        for cell in cells:
            if cell.get("cell_type") == "code":
                cell.pop("source", None)
                cell.pop("input", None)
    if old != new or {line.cell for line in again.lines} != {line.cell for line in book.lines}:
        raise ValueError("the edits would change more of the notebook than its code")
