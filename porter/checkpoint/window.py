"""A stretch of a file, read as a file: nothing beyond its end, and never more memory than there are bytes."""

from __future__ import annotations

import io
from typing import BinaryIO

from porter.checkpoint.errors import Damaged
from porter.checkpoint.model import Span

LINE = 1 << 16  # bytes of a line of a pickle


class Window(io.RawIOBase):
    def __init__(self, stream: BinaryIO, start: int, size: int, file: str = ""):
        """`file`: its name, where `start` counts from its beginning; without one the bytes are in memory alone."""
        self.stream, self.start, self.size, self.file = stream, start, size, file
        self.at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = max(0, offset + (0, self.at, self.size)[whence])
        return self.at

    def tell(self) -> int:
        return self.at

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self.size - self.at)
        size = left if size is None or size < 0 else min(size, left)
        self.stream.seek(self.start + self.at)
        data = self.stream.read(size)
        self.at += len(data)
        return data

    def readline(self, size: int | None = -1) -> bytes:
        self.stream.seek(self.start + self.at)
        line = self.stream.readline(min(LINE, max(0, self.size - self.at)))
        self.at += len(line)
        return line

    def exactly(self, size: int) -> bytes:
        data = self.read(size)
        if len(data) != size:
            raise Damaged.of("cut", at=self.start + self.at)
        return data

    def take(self, size: int, is_text: bool = False) -> Span | bytes:
        """Where the next bytes lie; the bytes themselves where they lie in memory alone. They are passed over."""
        if size > self.size - self.at:
            raise Damaged.of("cut", at=self.start + self.at)
        if not self.file:
            data = self.read(size)
            return data.decode("utf-8", "surrogatepass").encode("latin-1") if is_text else data
        span = Span(self.file, self.start + self.at, size, is_text=is_text)
        self.at += size
        return span

    def part(self, start: int, size: int) -> Window:
        if start < 0 or size < 0 or start + size > self.size:
            raise Damaged.of("beyond", start=start, size=size, length=self.size)
        return Window(self.stream, self.start + start, size, self.file)


def in_memory(data: bytes) -> Window:
    return Window(io.BytesIO(data), 0, len(data))
