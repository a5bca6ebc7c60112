"""Holds the text of one file. Converts between positions of `ast` (line, UTF-8 column), offsets, and what editors count."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from porter.python.comments import comments
from porter.python.index import Node
from porter.python.searches import may_say
from porter.python.stored import LINE_END, Stored

# bytes after which characters are counted again; the bytes of UTF-8 that begin no character
_STEP, _INNER = 4096, bytes(range(0x80, 0xC0))
# a table for `translate`: every byte that belongs to no word becomes a space
_SPACES = bytes(c if c < 128 and chr(c).isalnum() or c == ord("_") else ord(" ") for c in range(256))


class Lines:
    """A text that is searched for words and patterns."""

    def __init__(self, utf8: bytes) -> None:
        self.utf8 = utf8

    @cached_property
    def starts(self) -> list[int]:
        lines = self.utf8.splitlines(keepends=True)  # for bytes, it knows just the line ends of Python's grammar
        starts = [0, *accumulate(map(len, lines))]
        return starts if not lines or lines[-1].endswith((b"\n", b"\r")) else starts[:-1]

    @cached_property
    def words(self) -> frozenset[bytes]:
        """All words of the text, including those in strings and comments."""
        return frozenset(self.utf8.translate(_SPACES).split())

    @cached_property
    def vocabulary(self) -> bytes:
        """All words in one text, each once. It is a tenth of the text, and has every run of letters that the text has."""
        return b" ".join(self.words)

    @cached_property
    def lowered(self) -> bytes:
        """The vocabulary in lower case."""
        return self.vocabulary.lower()


class Source(Lines):
    """The text of a file. Offsets are those of `utf8`: the file without its BOM, in UTF-8 whatever its encoding is."""

    def __init__(self, data: bytes) -> None:
        self.stored = Stored(data)
        super().__init__(self.stored.utf8)
        self._answers: dict[tuple[re.Pattern[bytes] | bytes, int, int], bool] = {}

    def only(self, numbers: frozenset[int]) -> Lines:
        """The text with these lines at their places; all other lines are empty."""
        lines = enumerate(self.utf8.splitlines(), 1)
        return Lines(b"\n".join([line if number in numbers else b"" for number, line in lines]))

    def says(self, sought: re.Pattern[bytes] | bytes, node: Node = None) -> bool:
        """Whether the text, or the text of a node, has a match. Answers are kept, as many hits ask the same."""
        start, end = self.span(node) if node is not None else (0, len(self.utf8))
        known = self._answers.get((sought, start, end))
        if known is None:
            if node is None and not may_say(self, sought):
                known = False
            elif isinstance(sought, bytes):
                known = self.utf8.find(sought, start, end) >= 0
            else:
                known = sought.search(self.utf8, start, end) is not None
            self._answers[sought, start, end] = known
        return known

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def span(self, node: Node) -> tuple[int, int]:
        starts = self.starts
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def line(self, offset: int) -> int:
        return bisect_right(self.starts, offset)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column as editors count them: both from 1, the column in characters."""
        line = self.line(offset)
        start = self.starts[line - 1]
        return line, (offset - start if self._ascii else self._characters(offset) - self._characters(start)) + 1

    @cached_property
    def _ascii(self) -> bool:
        return self.utf8.isascii()

    def _characters(self, offset: int) -> int:
        """How many characters stand before an offset. They are counted from the last step: a line may be as long as a file."""
        step = offset // _STEP
        return self._steps[step] + len(self.utf8[step * _STEP : offset].translate(None, _INNER))

    @cached_property
    def _steps(self) -> list[int]:
        begins = range(0, len(self.utf8), _STEP)
        steps = (len(self.utf8[begin : begin + _STEP].translate(None, _INNER)) for begin in begins)
        return [*accumulate(steps, initial=0)]

    def line_end(self, offset: int) -> tuple[int, int]:
        """The end of the line that holds `offset`: before its newline, and behind it."""
        line = self.line(offset)
        behind = self.starts[line] if line < len(self.starts) else len(self.utf8)
        tail = self.utf8[max(offset, behind - 2) : behind]
        return behind - (2 if tail == b"\r\n" else tail[-1:] in (b"\n", b"\r")), behind

    def indentation(self, offset: int) -> bytes:
        start = self.starts[self.line(offset) - 1]
        match = re.compile(rb"[ \t\f]*").match(self.utf8, start, offset)
        return match[0] if match else b""

    @cached_property
    def comments(self) -> list[tuple[int, int, str]]:
        """(line, column in characters, text) of every comment."""
        return comments(self.utf8)

    @cached_property
    def newline(self) -> bytes:
        match = LINE_END.search(self.utf8)
        return match[0] if match else b"\n"
