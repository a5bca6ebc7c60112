"""The whole source of one file as HTML: numbered lines in colours, in parts behind which the findings stand."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from porter.engine.session import Session
from porter.errors import Unreadable
from porter.files.documents import Json
from porter.files.kinds import NOTEBOOK, kind_of
from porter.report.colours import coloured_whole, runs
from porter.report.sanitise import line as visible
from porter.report.source import Text
from porter.rulebook.words import both

WIDEST = 1000  # characters of a line on the page
MOST_COLOURED = 500_000  # characters of a file; a larger one is black on white
AROUND = 80  # characters on each side of a place in a line that is cut
FAR = 200  # lines of a part that a browser draws once it is near


class Row(NamedTuple):
    line: int  # of the file
    text: str
    cell: int = 0  # of a notebook, and the line in it
    within: int = 0


class Part(NamedTuple):
    lines: Markup
    far: bool  # whether a browser may leave it for later
    cell: int  # that begins here; 0 for none
    findings: list[Json]  # at its last line


def sheet(path: str, data: bytes, findings: list[Json], session: Session) -> list[Part]:
    """The first part has the findings that stand at no line."""
    rows = _rows(path, data, session)
    index = {(row.cell, row.within) if row.cell else row.line: n for n, row in reversed([*enumerate(rows)])}
    behind: dict[int, list[Json]] = {}
    for finding in findings:
        behind.setdefault(index.get(_place(finding, rows), -1), []).append(finding)
    texts = [visible(row.text) for row in rows]
    shown = tuple(text[:WIDEST] for text in texts)
    colours = [""] * len(rows)
    if sum(map(len, shown)) <= MOST_COLOURED:
        colours = coloured_whole("x.py" if rows and rows[0].cell else path, shown)
    parts = [Part(Markup(), False, 0, behind.get(-1, []))]
    lines: list[str] = []
    begins = seen = 0
    for n, row in enumerate(rows):
        if row.within == 1:
            begins = row.cell
        number = row.within or row.line
        # a notebook may have all its cells in one line
        anchor = f' id="L{row.line}" href="#L{row.line}"' if row.line > seen else ""
        seen = row.line
        found = behind.get(n, [])
        code = _painted(shown[n], colours[n], [] if row.cell else [_mark(row.text, f) for f in found])
        if len(texts[n]) > WIDEST:
            code += _more(len(texts[n]) - WIDEST)
        lines.append(f'<p{" class=hit-line" if found else ""}><a{anchor} tabindex="-1">{number}</a>{code}</p>')
        if found or len(lines) == FAR or n + 1 == len(rows) or rows[n + 1].within == 1:
            parts.append(Part(Markup("\n".join(lines)), len(lines) == FAR, begins, found))
            lines, begins = [], 0
    return parts


def _rows(path: str, data: bytes, session: Session) -> list[Row]:
    if kind_of(path) == NOTEBOOK:
        from porter.text.document import Document
        from porter.text.notebooks.cells import read

        try:
            book = read(Document(path, data, NOTEBOOK, session, ""))
        except Unreadable:  # a finding says why; its lines are shown as they are
            pass
        else:
            places = (book.document.place(line.cell.begin(line.start))[0] for line in book.lines)
            return [Row(at, line.body, line.cell.number, line.number) for at, line in zip(places, book.lines)]
    text = Text(data)
    return [Row(number, text.line(number)) for number in range(1, len(text.rows) + 1)]


def _place(finding: Json, rows: list[Row]) -> int | tuple[int, int]:
    values = finding["values"]
    if rows and rows[0].cell and "cell" in values:
        return int(values["cell"]), int(values["cell_line"])
    line: int = finding["line"]
    return line


def _mark(text: str, finding: Json) -> tuple[int, int]:
    """Which characters of the first line of a finding, as shown, it is about."""
    start = finding["column"] - 1
    end = finding["end_column"] - 1 if finding["end_line"] == finding["line"] else len(text.rstrip())
    return len(visible(text[:start])), len(visible(text[: max(start, end)]))


def _painted(text: str, colours: str, marks: list[tuple[int, int]]) -> str:
    pieces = [(kind, start, end) for kind, start, end in runs(text, colours)]
    if not marks:
        return "".join(_piece(text[start:end], kind) for kind, start, end in pieces)
    cuts = sorted({at for mark in marks for at in mark} | {at for _, start, end in pieces for at in (start, end)})
    kinds = iter(pieces)
    kind, _, behind = next(kinds, (".", 0, 0))
    out = []
    for start, end in pairwise(cuts):
        while start >= behind and (following := next(kinds, None)):
            kind, _, behind = following
        piece = _piece(text[start:end], kind)
        is_marked = any(low <= start and end <= high for low, high in marks)
        out.append(f"<mark>{piece}</mark>" if is_marked and piece else piece)
    return "".join(out)


def _piece(text: str, kind: str) -> str:
    text = escape(text, quote=False)
    return text if kind == "." or not text else f'<span class="t-{kind}">{text}</span>'


def _more(count: int) -> str:
    texts = both("pages", "cut")
    spans = (
        f'<span lang="{"zh-Hans" if lang == "zh" else lang}">{text.format(n=count)}</span>'
        for lang, text in texts.items()
    )
    return f'<span class="aside"> … {"".join(spans)}</span>'


def window(finding: Json, data: bytes) -> list[str]:
    """What stands around a place of a long line, and what an edit makes of it; only the first where it edits more."""
    text = Text(data).line(finding["line"])
    edits = sorted(finding["edit"], key=lambda e: e["column"])
    ends = [(finding["line"], finding["column"]), (finding["end_line"], finding["end_column"])]
    ends += [(e[f"{side}line"], e[f"{side}column"]) for e in edits for side in ("", "end_")]
    columns = [column - 1 for line, column in ends if line == finding["line"]]
    low, high = max(min(columns) - AROUND, 0), max(columns) + AROUND
    old = text[low:high]
    if high - low > WIDEST or not edits or any(line != finding["line"] for line, _ in ends):
        return [_windowed(text[finding["column"] - 1 - AROUND : finding["column"] - 1 + AROUND])]
    new, at = "", low
    for edit in edits:
        new += text[at : edit["column"] - 1] + edit["text"]
        at = edit["end_column"] - 1
    return [_windowed(old), *map(_windowed, (new + text[at:high]).splitlines())]


def _windowed(text: str) -> str:
    return f"… {visible(text)} …"


def neighbours(findings: Iterable[Json]) -> list[Json]:
    """The findings of a file in its order, each with the marks of the one before it and of the one behind it."""
    ordered = sorted(findings, key=lambda f: (f["line"], f["column"], f["code"], f["fingerprint"]))
    marks = ["", *(f["fingerprint"] for f in ordered), ""]
    return [{**f, "before": marks[n], "after": marks[n + 2]} for n, f in enumerate(ordered)]
