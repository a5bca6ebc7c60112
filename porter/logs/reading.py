"""A log as blocks of whole lines: bounded memory, whatever it is encoded, compressed or drawn with."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from porter.errors import UserError
from porter.files.read import opened as opened_file

BLOCK = 1 << 18
LAYERS = 4  # of gzip around a log: there are archives that hold themselves
LONG = 1 << 16  # what has no end within so many bytes is cut: no line of a program is that long
UNCOUNTED = b"\x1e\n"  # ends a line that a progress bar drew over, or a piece of a long one: no line for `grep -n`


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@contextmanager
def opened(name: str) -> Iterator[Readable]:
    if name == "-":
        yield _decoded(sys.stdin.buffer)
        return
    try:
        with opened_file(name, pipes=True) as (file, _):  # `porter diagnose <(zcat ...)`
            yield _decoded(file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(
            f"{name}: damaged gzip data: {error}; unpack it by hand and give what comes out",
            f"{name}：gzip 数据损坏：{error}；请手动解压后再诊断",
        ) from None


def blocks(stream: Readable, long: int = LONG) -> Iterator[bytes]:
    """Whole lines, each ended by a line feed; those that count as none to `grep -n` by UNCOUNTED. `long`: bytes of a line
    beyond which it is cut."""
    leftover = b""
    while chunk := stream.read(BLOCK):
        data = leftover + chunk
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > long:
            cut = data.rfind(b"\r", 0, len(data) - 1) + 1 or len(data)
        leftover = data[cut:]
        if cut:
            yield from _lines(data[:cut], long)
    if leftover:
        yield from _lines(leftover, long)


def _lines(data: bytes, long: int) -> Iterator[bytes]:
    data = data.replace(b"\x1e", b" ")
    if b"\r" in data:
        # \r\r\n is what a terminal makes of \r\n
        data = data.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", UNCOUNTED)
    if not data.endswith(b"\n"):
        data += UNCOUNTED
    offset = 0
    while len(data) - offset > max(BLOCK * 2, long) or _too_long(data, offset, long):
        end = data.rfind(b"\n", offset, offset + long) + 1
        if end:
            yield data[offset:end]
            offset = end
        else:
            yield data[offset : offset + long] + UNCOUNTED
            offset += long
    if offset < len(data):
        yield data[offset:]


def _too_long(data: bytes, offset: int, long: int) -> bool:
    """Whether a line may be longer than `long`: looked at in strides, so that it costs nothing."""
    return any(data.find(b"\n", start, start + long) < 0 for start in range(offset, len(data) - long, long))


def _decoded(stream: Any, layers: int = LAYERS) -> Readable:
    """`stream`: bytes of any kind."""
    stream = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)
    head = stream.peek(4)[:4]
    if head.startswith(b"\x1f\x8b"):
        if not layers:
            raise gzip.BadGzipFile("packed again and again")
        return _decoded(gzip.GzipFile(fileobj=stream, mode="rb"), layers - 1)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _Recoded(codecs.getreader("utf-16")(stream, "replace"))
    plain: Readable = stream
    return plain


class _Recoded:
    """What Windows' redirection writes, as UTF-8."""

    def __init__(self, text: codecs.StreamReader) -> None:
        self._text = text

    def read(self, size: int, /) -> bytes:
        return self._text.read(size).encode("utf-8", "replace")
