"""The code cells of a notebook: their lines, and where in the JSON every character of them stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

from porter.errors import Unreadable
from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.text.document import Document
from porter.text.jsonspans import Node, parse
from porter.text.notebooks import magics

_UNREAD = frozenset({"outputs", "attachments", "widgets"})  # what may be large, and holds no code
_LINE = lazy(r"([^\r\n]*)(\r\n|\r|\n|\Z)")  # what Python calls a line end; str.splitlines knows eight more
_ESCAPE = lazy(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.", re.DOTALL)
HALF = lazy("[\ud800-\udfff]")  # of a character outside the plane of 16 bits: no text in UTF-8 has it alone
CODING = lazy(r"[ \t\f]*#.*?coding[:=]")  # of a file; a cell has none
_PYTHON = lazy(r"(?i)i?python|xpython|pyspark")
_SHELL = lazy(r"(?i)(?:ba|z)?sh$|shell(?:script)?$")
_OTHERS = lazy(rf"(?i)(?:{any_of('kernel-of-another-language')})(?![a-z])")


class Literal:
    """One JSON string of a source."""

    def __init__(self, text: str, node: Node):
        self.node, self.text = node, str(node.value)
        written = text[node.start : node.end]
        self.ascii, self.escaped = written.isascii(), r"\u" in written  # how letters that are not ASCII are spelt in it
        self._behind: list[int] = []  # of each escape, the first character behind it
        self._wider: list[int] = [0]  # by how much JSON is longer up to there
        for match in _ESCAPE.finditer(text, node.start, node.end - 1):
            wider = self._wider[-1]
            self._behind.append(match.start() - node.start - wider)
            self._wider.append(wider + len(match[0]) - 1)

    @cached_property
    def many(self) -> bool:
        """Whether it holds several lines."""
        return len(pieces(self.text)) > 1

    def offset(self, index: int) -> int:
        """Where the character of this index begins in the file; of one behind the last, the closing quote."""
        return self.node.start + 1 + index + self._wider[bisect_right(self._behind, index)]


class Cell:
    """`text` is what a reader of notebooks takes for the source: the strings of a list in a row."""

    def __init__(self, number: int, source: Node, literals: tuple[Literal, ...], language: str):
        self.number, self.source, self.literals, self.language = number, source, literals, language
        self.listed = source.kind == "array"  # a list of strings, else one string
        texts = [literal.text for literal in literals]
        # lines without their ends, as some programs write them: VS Code reads them as lines, as nbformat 3 did
        self.bare = len(texts) > 1 and not any("\n" in text or "\r" in text for text in texts)
        self.bare = self.bare and not _is_python("".join(texts)) and _is_python("\n".join(texts))
        self.text = ("\n" if self.bare else "").join(texts)
        gap = int(self.bare)
        self.starts = list(accumulate((len(text) + gap for text in texts[:-1]), initial=0)) if texts else []

    def literal_at(self, offset: int) -> int:
        """The number of the string that holds the character at `offset`."""
        return bisect_right(self.starts, offset) - 1

    def begin(self, offset: int) -> int:
        """Where in the file what begins at `offset` of the text does."""
        number = self.literal_at(offset)
        literal = self.literals[number]
        return literal.offset(min(offset - self.starts[number], len(literal.text)))

    def end(self, offset: int) -> int:
        """Where in the file what ends at `offset` of the text does: before, not behind what separates two strings."""
        number = max(self.literal_at(offset - 1), 0)
        literal = self.literals[number]
        return literal.offset(min(offset - self.starts[number], len(literal.text)))


@dataclass(frozen=True, slots=True)
class Line:
    cell: Cell
    number: int  # in its cell, from 1
    start: int  # in the text of its cell
    body: str
    end: str  # its line end; "" where it has none


@dataclass
class Notebook:
    """All cells in a row, line by line. `python` has for each line its Python, or a placeholder of the same length where
    the line is a magic or shell; `commands` are the shell ones. An offset in the joined text means the same line in all of them."""

    document: Document
    cells: tuple[Cell, ...] = ()
    lines: tuple[Line, ...] = ()
    python: tuple[str, ...] = ()
    shields: tuple[int | None, ...] = ()  # of each line: from this column on it is a placeholder
    commands: tuple[magics.Command, ...] = ()
    broken: dict[int, int] = field(default_factory=dict)  # cells that are no Python: number, and first line

    @cached_property
    def starts(self) -> list[int]:
        return list(accumulate((len(line.body) + 1 for line in self.lines), initial=0))

    def line_at(self, offset: int) -> int:
        return min(bisect_right(self.starts, offset), len(self.lines)) - 1

    def file_offset(self, offset: int, end: bool = False) -> int:
        """Where in the file a character of the views stands."""
        line = self.lines[self.line_at(offset)]
        within = line.start + min(offset - self.starts[self.line_at(offset)], len(line.body))
        return line.cell.end(within) if end else line.cell.begin(within)

    @cached_property
    def python_view(self) -> str:
        return "".join(f"{text}\n" for text in self.python)


def bodies(text: str) -> list[str]:
    return [body for body, _ in pieces(text)]


def pieces(text: str) -> list[tuple[str, str]]:
    """Lines and their ends. What ends with a line end has no empty line behind it."""
    lines = [(match[1], match[2]) for match in _LINE.finditer(text)]
    return lines[:-1] if lines and lines[-1] == ("", "") else lines


def _is_python(text: str) -> bool:
    return magics.parses("\n".join(magics.read(bodies(HALF.sub("\ufffd", text))).python))


def read(document: Document) -> Notebook:
    """Raises Unreadable where it is no notebook."""
    tree = parse(document.text, _UNREAD)
    sheets = tree.get("worksheets")
    holders = [tree, *(sheets.items if sheets is not None else ())]  # format 3
    cell_lists = [value for value in (node.get("cells") for node in holders) if value is not None]
    if not cell_lists:
        raise Unreadable("text", "JSON, but no notebook: it has no cells")
    kernel = _kernel(tree)
    cells: list[Cell] = []
    for node in (node for value in cell_lists for node in value.items):
        kind, source = node.get("cell_type"), node.get("source") or node.get("input")
        if kind is None or kind.value != "code" or source is None or source.kind == "other" and source.value == "null":
            continue
        nodes = source.items if source.kind == "array" else [source]
        if any(string.kind != "string" for string in nodes):
            line = document.place(source.start)[0]
            raise Unreadable("text", "a code cell whose source is no text", line)
        literals = tuple(Literal(document.text, string) for string in nodes)
        cells.append(Cell(len(cells) + 1, source, literals, _language(node) or kernel))
    return _viewed(document, tuple(cells))


def _text(node: Node, *path: str) -> str:
    """The string at the end of a path of keys."""
    for key in path:
        node = node.get(key) or Node("other", 0, 0, "")
    return str(node.value) if node.kind == "string" else ""


def _kernel(tree: Node) -> str:
    """What the cells are written in: "python", "shell" or "" for anything else."""
    stated = (_text(tree, "metadata", *path) for path in (("kernelspec", "language"), ("language_info", "name")))
    if language := next(filter(None, stated), ""):
        return _known(language)
    name = _text(tree, "metadata", "kernelspec", "name")
    return "" if _OTHERS.match(name) else _known(name) if _SHELL.match(name) else "python"


def _known(language: str) -> str:
    return "python" if _PYTHON.match(language) else "shell" if _SHELL.match(language) else ""


def _language(cell: Node) -> str:
    """Of a cell that says so itself; an editor may take a cell of Python for plain text."""
    stated = _text(cell, "language") or _text(cell, "metadata", "vscode", "languageId")
    return _known(stated) or "other" * (_OTHERS.match(stated) is not None)


def _viewed(document: Document, cells: tuple[Cell, ...]) -> Notebook:
    book = Notebook(document, cells)
    lines: list[Line] = []
    python: list[str] = []
    shields: list[int | None] = []
    commands: list[magics.Command] = []
    for cell in cells:
        ends = pieces(cell.text)
        texts = [HALF.sub("\ufffd", body) for body, _ in ends]
        reading = {"python": magics.read, "shell": magics.shell}.get(cell.language, magics.hidden)(texts)
        if cell.language == "python" and not magics.parses("\n".join(reading.python)):
            book.broken[cell.number] = len(lines)
            commands_kept = reading.commands if reading.whole else []
            reading = replace(magics.hidden(texts), commands=commands_kept)
        commands += (c._replace(first=c.first + len(lines), last=c.last + len(lines)) for c in reading.commands)
        python += reading.python
        shields += reading.shields
        offset = 0
        for number, (body, end) in enumerate(ends, 1):
            lines.append(Line(cell, number, offset, body, end))
            offset += len(body) + len(end)
    for number, text in enumerate(python[:2]):
        if CODING.match(text):
            python[number], shields[number] = magics.hidden([text]).python[0], 0
    book.lines, book.python, book.shields, book.commands = tuple(lines), tuple(python), tuple(shields), tuple(commands)
    return book
