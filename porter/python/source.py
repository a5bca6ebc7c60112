"""One file's bytes, and the way between `ast` positions (line, UTF-8 column), offsets and what editors count."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from porter.engine.suppress import SPOKEN, Comment
from porter.errors import Unreadable
from porter.python.trees import MOST, fits, tree_of

BOM = b"\xef\xbb\xbf"
LINE_END = re.compile(rb"\r\n|\r|\n")  # what Python calls a line end; str.splitlines knows eight more
_ASCII = b"\t\n\r\f" + bytes(range(32, 127)) + rb"\u0041\x41\101 ~~ +AGE- .."
_STEP, _INNER = 4096, bytes(range(0x80, 0xC0))  # what stands inside of a character
_SPACES = bytes(c if c < 128 and chr(c).isalnum() or c == ord("_") else ord(" ") for c in range(256))
CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=]")
PYTHON2 = re.compile(
    rb"^[ \t]*(print[ \t]+[\"'\w]|exec[ \t]+[\"'\w]|except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:|raise[ \t]+\w+[ \t]*,)",
    re.M,
)


def _decoded(data: bytes, encoding: str) -> str:
    """What a file holds that is not stored in UTF-8. Codecs that read ASCII as something else (utf-7, unicode_escape), and
    those that write other bytes than they read, are none that a file can be edited in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if _ASCII.decode(encoding) != _ASCII.decode("ascii") or _ASCII.decode("ascii").encode(encoding) != _ASCII:
            raise ValueError(f"{encoding} does not hold ASCII as it is")
        text = data.decode(encoding)
        if text.encode(encoding) != data:
            raise ValueError(f"{encoding} does not give back the same bytes")
    return text


class Source:
    """`utf8` is what offsets point into: the file without its BOM, in UTF-8 whatever it was stored in."""

    def __init__(self, data: bytes):
        self.data = data
        self.bom = BOM if data.startswith(BOM) else b""
        self.encoding = "utf-8"
        self._said: dict[tuple[re.Pattern[bytes] | bytes, int, int], bool] = {}
        self.utf8 = data[len(self.bom) :]
        try:
            if any(map(CODING.match, LINE_END.split(data, 2)[:2])) or not data.isascii():
                stated = codecs.lookup(tokenize.detect_encoding(io.BytesIO(data).readline)[0]).name
                if stated in ("utf-8", "utf-8-sig", "ascii"):
                    self.utf8.decode(stated)
                else:
                    self.encoding, self.utf8 = stated, _decoded(data, stated).encode("utf-8")
        except (SyntaxError, ValueError, LookupError) as error:  # a UnicodeError is a ValueError
            raise Unreadable("encoding", str(error).partition("\n")[0]) from None

    @property
    def recoded(self) -> bool:
        """Offsets into `utf8` are not offsets into the file."""
        return self.encoding != "utf-8"

    def parse(self) -> ast.Module:
        text = self.utf8.decode("utf-8")  # text, not bytes: a coding line must not be applied a second time
        if not fits(text):
            raise Unreadable("vast", f"{MOST:,}")
        try:
            return tree_of(text)
        except SyntaxError as error:
            key = "python2" if PYTHON2.search(self.utf8) else "syntax"
            raise Unreadable(key, error.msg or "invalid syntax", error.lineno or 1) from None
        except ValueError as error:  # null bytes
            raise Unreadable("syntax", str(error)) from None
        except (RecursionError, MemoryError):
            raise Unreadable("deep") from None

    def stored(self, utf8: bytes) -> bytes:
        """The way back to the bytes of the file. Raises UnicodeEncodeError where its encoding cannot hold the text."""
        if self.recoded:
            return utf8.decode("utf-8").encode(self.encoding)
        return self.bom + utf8

    @cached_property
    def _stored_lines(self) -> list[int]:
        """Where each line begins in the file, if what encodes the text carries nothing from line to line."""
        lines = [len(self.stored(self.utf8[a:b])) for a, b in zip(self.starts, [*self.starts[1:], len(self.utf8)])]
        return [*accumulate(lines, initial=0)]

    def stored_at(self, offset: int) -> int:
        """An offset of the text in the file. Raises UnicodeEncodeError where its encoding cannot hold what is before."""
        line = self.line(offset) - 1
        if self._stored_lines[-1] != len(self.data):  # a byte order mark, a state
            return len(self.stored(self.utf8[:offset]))
        return self._stored_lines[line] + len(self.stored(self.utf8[self.starts[line] : offset]))

    @cached_property
    def words(self) -> frozenset[bytes]:
        """All words of the text, those in strings and comments, too."""
        return frozenset(self.utf8.translate(_SPACES).split())

    @cached_property
    def vocabulary(self) -> bytes:
        """The same in a row, a tenth of the text: letters that the text has beside each other, it has, too."""
        return b" ".join(self.words)

    def says(self, what: re.Pattern[bytes] | bytes, node=None) -> bool:
        """Whether something stands anywhere, or in a node: every hit of a rule asks, and the text is gone over once."""
        start, end = self.span(node) if node is not None else (0, len(self.utf8))
        known = self._said.get((what, start, end))
        if known is None:
            found = (
                self.utf8.find(what, start, end) >= 0 if what.__class__ is bytes else what.search(self.utf8, start, end)
            )
            known = self._said[what, start, end] = bool(found)
        return known

    @cached_property
    def starts(self) -> list[int]:
        lines = self.utf8.splitlines(keepends=True)  # of bytes, it knows the line ends that Python knows
        starts = [0, *accumulate(map(len, lines))]
        return starts if not lines or lines[-1].endswith((b"\n", b"\r")) else starts[:-1]

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def span(self, node) -> tuple[int, int]:
        starts = self.starts
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def beginnings(self, links) -> dict[int, tuple]:
        """The links by where their nodes begin."""
        starts = self.starts
        return {starts[(node := link[0]).lineno - 1] + node.col_offset: link for link in links}

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
        """How many stand before an offset: counted from the last step, as a line may be all of a file."""
        step = offset // _STEP
        return self._steps[step] + len(self.utf8[step * _STEP : offset].translate(None, _INNER))

    @cached_property
    def _steps(self) -> list[int]:
        begins = range(0, len(self.utf8), _STEP)
        steps = (len(self.utf8[at : at + _STEP].translate(None, _INNER)) for at in begins)
        return [*accumulate(steps, initial=0)]

    def line_end(self, offset: int) -> tuple[int, int]:
        """Where the line that holds `offset` ends: before and behind its newline."""
        line = self.line(offset)
        behind = self.starts[line] if line < len(self.starts) else len(self.utf8)
        tail = self.utf8[max(offset, behind - 2) : behind]
        return behind - (2 if tail == b"\r\n" else tail[-1:] in (b"\n", b"\r")), behind

    def indentation(self, offset: int) -> bytes:
        start = self.starts[self.line(offset) - 1]
        return re.compile(rb"[ \t\f]*").match(self.utf8, start, offset)[0]

    @cached_property
    def comments(self) -> list[tuple[int, int, str]]:
        """(line, column in characters, text) of every comment. Behind what this Python's tokenizer cannot read, whatever
        looks like one."""
        text, found, line = LINE_END.sub(b"\n", self.utf8).decode("utf-8"), [], 0  # it knows no lone \r
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                line = token.end[0]
                if token.type == tokenize.COMMENT:
                    found.append((*token.start, token.string))
        except (tokenize.TokenError, SyntaxError):
            for number, row in enumerate(text.split("\n")[line:], line + 1):
                if "#" in row:
                    found.append((number, row.index("#"), row[row.index("#") :]))
        return found

    def remarks(self) -> Iterator[Comment]:
        """The comments in which the user may speak to porter; none is looked for where nothing does."""
        if SPOKEN in self.data:
            for line, column, text in self.comments:
                start = self.starts[line - 1]
                before = self.utf8[start : self.line_end(start)[0]].decode("utf-8")[:column]
                yield Comment(line, column + 1, text[1:], not before.strip())

    def commented(self, first: int, last: int) -> list[tuple[int, int, str]]:
        """The comments on these lines."""
        begin = bisect_left(self.comments, (first, 0, ""))
        return self.comments[begin : bisect_left(self.comments, (last + 1, 0, ""), begin)]

    @cached_property
    def line_ends(self) -> frozenset[bytes]:
        return frozenset(LINE_END.findall(self.utf8) if b"\r" in self.utf8 else (b"\n",) if b"\n" in self.utf8 else ())

    @cached_property
    def newline(self) -> bytes:
        found = LINE_END.search(self.utf8)
        return found[0] if found else b"\n"
