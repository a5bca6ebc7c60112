"""What a finding looks like in its file: the lines around it, with its edit as lines taken away and put in."""

from __future__ import annotations

from typing import TypeAlias

from porter.files.documents import Json
from porter.report.colours import coloured
from porter.report.diff import shared
from porter.report.sanitise import line as visible

CONTEXT = 2
MOST = 12  # lines of one finding
LONGEST = 240  # characters of a line on the page
Row: TypeAlias = tuple[
    str, int, int, int, int
]  # (tag, line number or 0, index into the pool, first marked character, behind the last one)


class Excerpts:
    """Rows for all findings of a document; equal lines are kept once, in `pool`."""

    def __init__(self, sources: dict[str, list[Json]]):
        self.sources = sources
        self.pool: list[tuple[str, str]] = []
        self._indexes: dict[tuple[str, str], int] = {}
        self._lines: dict[str, dict[int, tuple[str, int]]] = {}
        self._colours: dict[str, dict[int, tuple[str, str]]] = {}

    def rows(self, finding: Json) -> list[Row]:
        path, first = finding["path"], finding["line"]
        lines = self._lines_of(path)
        if first not in lines:
            return []
        touched = sorted({n for e in finding["edit"] for n in range(e["line"], e["end_line"] + 1)} & lines.keys())
        new = self._after(finding, lines) if touched and touched[-1] - touched[0] + 1 == len(touched) else None
        if new is not None:
            old = [_short(lines[n][0]) for n in touched]
            head, tail = shared(old, new)
            touched, new = touched[head : len(old) - tail], new[head : len(new) - tail]
        shown = [n for n in range(first, min(max(finding["end_line"], first), first + MOST) + 1) if n in lines]
        if new is not None and touched:
            shown = touched
        rows: list[Row] = []
        for number in (n for n in range(min(shown[0], first) - CONTEXT, shown[-1] + CONTEXT + 1) if n in lines):
            tag = "-" if new is not None and number in touched else "*" if number in shown else " "
            rows.append((tag, number, self._kept(path, number), *self._mark(finding, lines, number)))
            if new and number == (touched[-1] if touched else shown[-1]):
                marks = coloured(path, tuple(new))
                rows += [("+", 0, self._index(text, colour), 0, 0) for text, colour in zip(new, marks)]
        return rows

    def _lines_of(self, path: str) -> dict[int, tuple[str, int]]:
        """Line number -> the text as stored, and the column of its first character."""
        if path not in self._lines:
            by_line: dict[int, tuple[str, int]] = {}
            for run in self.sources.get(path, ()):
                for number, text in enumerate(run["text"], run["line"]):
                    by_line[number] = (text, run.get("cut", {}).get(str(number), 1))
            self._lines[path] = by_line
        return self._lines[path]

    def _kept(self, path: str, number: int) -> int:
        if path not in self._colours:
            by_line: dict[int, tuple[str, str]] = {}
            for run in self.sources.get(path, ()):
                texts = tuple(_short(text) for text in run["text"])
                by_line.update(enumerate(zip(texts, coloured(path, texts)), run["line"]))
            self._colours[path] = by_line
        return self._index(*self._colours[path][number])

    def _index(self, text: str, colour: str) -> int:
        key = (text, colour)
        if key not in self._indexes:
            self._indexes[key] = len(self.pool)
            self.pool.append(key)
        return self._indexes[key]

    def _after(self, finding: Json, lines: dict[int, tuple[str, int]]) -> list[str] | None:
        """The touched lines as the edit leaves them; None where a line was cut so that the edit is not in it."""
        edits = finding["edit"]
        first_line, last_line = min(e["line"] for e in edits), max(e["end_line"] for e in edits)
        if any(n not in lines or lines[n][1] > 1 for n in (first_line, last_line)):
            return None
        out, position = [], (first_line, 1)
        for edit in sorted(edits, key=lambda e: (e["line"], e["column"])):
            out += [_between(lines, position, (edit["line"], edit["column"])), edit["text"]]
            position = (edit["end_line"], edit["end_column"])
        text = "".join(out) + lines[last_line][0][position[1] - 1 :]
        rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return [_short(row) for row in rows]

    @staticmethod
    def _mark(finding: Json, lines: dict[int, tuple[str, int]], number: int) -> tuple[int, int]:
        """Which characters of the row, as shown, the finding is about."""
        if not finding["line"] <= number <= max(finding["end_line"], finding["line"]):
            return 0, 0
        text, start = lines[number]
        left = finding["column"] - start if number == finding["line"] else len(text) - len(text.lstrip())
        right = finding["end_column"] - start if number == finding["end_line"] else len(text)
        head = visible(text[: max(left, 0)])
        size = len(visible(text[max(left, 0) : max(right, 0)]))
        return (len(head), min(len(head) + size, LONGEST)) if size and len(head) < LONGEST else (0, 0)


def _between(lines: dict[int, tuple[str, int]], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0]][0][start[1] - 1 : end[1] - 1]
    rows = [lines[start[0]][0][start[1] - 1 :]]
    rows += [lines[n][0] for n in range(start[0] + 1, end[0]) if n in lines]
    return "\n".join([*rows, lines[end[0]][0][: end[1] - 1]])


def _short(text: str) -> str:
    text = visible(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
