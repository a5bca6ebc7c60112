"""Decodes the bytes of a file to the UTF-8 text that porter works on, and encodes edits for the file."""

from __future__ import annotations

import codecs
import io
import tokenize
import warnings
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from porter.errors import Unreadable
from porter.finding import Change
from porter.regex import lazy

BOM = b"\xef\xbb\xbf"
LINE_END = lazy(rb"\r\n|\r|\n")  # the line ends of Python's grammar; str.splitlines knows eight more
# a text that must be the same in an encoding, or porter cannot edit a file in it
_ASCII = b"\t\n\r\f" + bytes(range(32, 127)) + rb"\u0041\x41\101 ~~ +AGE- .."
_CODING = lazy(rb"^[ \t\f]*#.*?coding[:=]")


def _decoded(data: bytes, encoding: str) -> str:
    """The text of a file that is not in UTF-8. Raises ValueError for a codec in which a file cannot be edited: one that reads
    ASCII as something else (utf-7, unicode_escape), or writes other bytes than it read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if _ASCII.decode(encoding) != _ASCII.decode("ascii") or _ASCII.decode("ascii").encode(encoding) != _ASCII:
            raise ValueError(f"{encoding} does not hold ASCII as it is")
        text = data.decode(encoding)
        if text.encode(encoding) != data:
            raise ValueError(f"{encoding} does not give back the same bytes")
    return text


class Stored:
    """The bytes of a file. `utf8` is the file without its BOM, in UTF-8 whatever its encoding is."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.bom = BOM if data.startswith(BOM) else b""
        self.encoding = "utf-8"  # also for a file that states ASCII
        self.stated = "utf-8"  # the encoding that the file states; added text must fit into it
        self.utf8 = data[len(self.bom) :]
        try:
            if any(map(_CODING.match, LINE_END.split(data, 2)[:2])) or not data.isascii():
                stated = codecs.lookup(tokenize.detect_encoding(io.BytesIO(data).readline)[0]).name
                if stated in ("utf-8", "utf-8-sig", "ascii"):
                    self.utf8.decode(stated)
                    self.stated = stated
                else:
                    self.encoding = self.stated = stated
                    self.utf8 = _decoded(data, stated).encode("utf-8")
        except (SyntaxError, ValueError, LookupError) as error:  # a UnicodeError is a ValueError
            raise Unreadable("encoding", str(error).partition("\n")[0]) from None

    @property
    def recoded(self) -> bool:
        """Whether offsets into `utf8` are not offsets into the file."""
        return self.encoding != "utf-8"

    def encode(self, utf8: bytes) -> bytes:
        """A text in the encoding of the file. Raises UnicodeEncodeError where that cannot hold it."""
        return utf8.decode("utf-8").encode(self.encoding)

    def edits(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """Edits of the text as edits of the file. Raises UnicodeEncodeError where its encoding cannot hold one."""
        if self.recoded:
            return tuple(Change(self._offset(c.start), self._offset(c.end), self.encode(c.new)) for c in changes)
        shift = len(self.bom)
        return tuple(Change(c.start + shift, c.end + shift, c.new) for c in changes) if shift else changes

    @cached_property
    def _lines(self) -> tuple[list[int], list[int]]:
        """Where each line begins in the text, and in the file. The second is right only if the encoding has no byte order mark
        and no state from line to line."""
        lines = self.utf8.splitlines(keepends=True)
        file_starts = accumulate((len(self.encode(line)) for line in lines), initial=0)
        return [*accumulate(map(len, lines), initial=0)], [*file_starts]

    def _offset(self, offset: int) -> int:
        """An offset of the text in the file."""
        text_starts, file_starts = self._lines
        if file_starts[-1] != len(self.data):  # a byte order mark, a state
            return len(self.encode(self.utf8[:offset]))
        line = bisect_right(text_starts, offset) - 1
        return file_starts[line] + len(self.encode(self.utf8[text_starts[line] : offset]))
