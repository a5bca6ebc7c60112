"""JSON of any size, one value at a time: what is held is one value and one piece of the file."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from porter.files.read import opened
from porter.profiles import errors

PIECE = 1 << 20
LARGEST = 1 << 26  # characters of one value: no event has so many
_SPACE = " \t\r\n"
_NEAR = 16  # an error so near to the end may be one of the end: `tru`, `\u12`
_DECODER = json.JSONDecoder(strict=False)
# times of day in microseconds have more digits than a float
_EXACT = json.JSONDecoder(strict=False, parse_float=str)


def pieces(file: str) -> Iterator[str]:
    """The text of a file, unpacked where it is packed. Raises UserError, FilesError."""
    try:
        with opened(file) as (raw, _):
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
            decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
            while data := stream.read(PIECE):
                yield decoder.decode(data)
    except EOFError:
        raise errors.cut(file) from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise errors.compressed(file, error) from None


class Tape:
    """Text that is read on one value further, or one character."""

    def __init__(self, file: str, exact: bool = False) -> None:
        """`exact`: numbers with a point stay text."""
        self._name = file
        self._decoder = _EXACT if exact else _DECODER
        self._pieces = pieces(file)
        self._text, self._at, self._before = "", 0, 0
        self._ended = False

    def peek(self) -> str:
        """The next character that is no space; nothing at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _SPACE:
                at += 1
            self._at = at
            if at < len(text):
                return text[at]
            if not self._more():
                return ""

    def take(self, characters: str) -> str:
        """One of these characters comes next."""
        found = self.peek()
        if not found:
            raise errors.cut(self._name)
        if found not in characters:
            raise self._damaged(f"{found!r} instead of {' or '.join(characters)}")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value, whole."""
        if not self.peek():
            raise errors.cut(self._name)
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not error.msg.startswith("Unterminated") and error.pos < len(self._text) - _NEAR:
                    raise self._damaged(error.msg, error.pos) from None
                if not self._more():
                    raise errors.cut(self._name) from None
                continue
            except RecursionError:
                raise self._damaged("nested too deeply") from None
            if end < len(self._text) or self._ended or not self._more():  # a number may go on
                self._at = end
                return value

    def _more(self) -> bool:
        if len(self._text) - self._at > LARGEST:
            raise self._damaged("a value that is too large")
        self._before += self._at
        parts = [self._text[self._at :]]
        self._at = 0
        size = len(parts[0])
        while not self._ended and (len(parts) == 1 or sum(map(len, parts)) < 2 * size):
            piece = next(self._pieces, None)
            self._ended = piece is None
            parts.append(piece or "")
        self._text = "".join(parts)
        return len(self._text) > size

    def _damaged(self, why: str, at: int | None = None) -> Exception:
        return errors.damaged(self._name, self._before + (self._at if at is None else at) + 1, why)


def elements(tape: Tape) -> Iterator[Any]:
    """Of the list that comes next."""
    tape.take("[")
    if tape.peek() == "]":
        tape.take("]")
        return
    while True:
        yield tape.value()
        if tape.take(",]") == "]":
            return


def members(tape: Tape, depth: int = 1) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Of the object that comes next, and of those in it: the keys down to `depth`, and what stands there."""
    for key in _keys(tape):
        if depth > 1 and tape.peek() == "{":
            for keys, value in members(tape, depth - 1):
                yield (key, *keys), value
        else:
            yield (key,), tape.value()


def events(file: str, facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Of a trace, a list of events or an object with such a list. `facts` receives what else the object says."""
    tape = Tape(file, exact=True)
    first = tape.peek()
    if first == "[":
        yield from (event for event in elements(tape) if isinstance(event, dict))
        return
    if first != "{":
        raise errors.no_trace(file)
    found = False
    for key in _keys(tape):
        if key == "traceEvents" and tape.peek() == "[":
            found = True
            yield from (event for event in elements(tape) if isinstance(event, dict))
        else:
            value = tape.value()
            if key in ("distributedInfo", "deviceProperties", "displayTimeUnit"):
                facts[key] = value
    if not found:
        raise errors.no_trace(file)


def _keys(tape: Tape) -> Iterator[str]:
    """Of the object that comes next; what stands behind a key is taken before the next one."""
    tape.take("{")
    if tape.peek() == "}":
        tape.take("}")
        return
    while True:
        tape.peek() == '"' or tape.take('"')
        key = tape.value()
        tape.take(":")
        yield key
        if tape.take(",}") == "}":
            return
