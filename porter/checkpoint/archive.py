"""A zip file of which members are found and read in place: never unpacked, never by the size that they claim."""

from __future__ import annotations

import struct
import zipfile
from typing import IO

from porter.checkpoint.errors import Damaged
from porter.checkpoint.model import Span
from porter.checkpoint.window import Window, in_memory

DIRECTORY = 1 << 25  # bytes of the list of members: half a million of them
HELD = 1 << 28  # bytes of a compressed member that is read at once
_END, _END64, _LOCATOR = b"PK\5\6", b"PK\6\6", b"PK\6\7"
RATIO = 1100  # no deflated bytes become more


class Archive:
    def __init__(self, window: Window):
        self._window = window
        _measured(window)
        self._zip = zipfile.ZipFile(window)
        self.members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            if info.filename in self.members:
                raise Damaged.of("twice", name=info.filename)
            self.members[info.filename] = info

    def span(self, name: str) -> Span:
        """Where the bytes of a member lie. Raises Damaged, also where there is none."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            if self._window.start or not self._window.file:
                raise Damaged.of("bomb", name=name)
            return Span(self._window.file, 0, info.file_size, name)
        header = self._window.part(info.header_offset, 30).exactly(30)
        if header[:4] != b"PK\3\4":
            raise Damaged.of("member", name=name)
        start = info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
        self._window.part(start, info.file_size)
        return Span(self._window.file, self._window.start + start, info.file_size)

    def window(self, name: str) -> Window:
        span = self.span(name)
        if not span.member:
            return self._window.part(span.start - self._window.start, span.size)
        with self._zip.open(self._info(name)) as stream:
            data = stream.read(HELD + 1)
        if len(data) > HELD:
            raise Damaged.of("bomb", name=name)
        return in_memory(data)

    def head(self, name: str, size: int) -> Window:
        """The first bytes of a member, also of a compressed one that is larger than any memory."""
        with self._zip.open(self._info(name)) as stream:
            return in_memory(stream.read(size))

    def stream(self, name: str) -> IO[bytes]:
        return self._zip.open(self._info(name))

    def _info(self, name: str) -> zipfile.ZipInfo:
        if (info := self.members.get(name)) is None:
            raise Damaged.of("absent", name=name)
        if info.flag_bits & 1:
            raise Damaged.of("encrypted", name=name)
        if (
            info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            or info.file_size > RATIO * info.compress_size
        ):
            raise Damaged.of("bomb", name=name)
        return info


def _measured(window: Window) -> None:
    """How long the list of members says it is, before it is read at once. Raises Damaged."""
    tail = window.part(max(0, window.size - (1 << 16) - 22), min(window.size, (1 << 16) + 22)).read()
    if (at := tail.rfind(_END)) < 0:
        raise Damaged.of("cut", at=window.start + window.size)
    size = int.from_bytes(tail[at + 12 : at + 16], "little")
    if tail[at - 20 : at - 16] == _LOCATOR and at >= 20:
        start = int.from_bytes(tail[at - 12 : at - 4], "little")
        record = window.part(start, 56).exactly(56)
        size = int.from_bytes(record[40:48], "little") if record[:4] == _END64 else size
    if size > min(DIRECTORY, window.size):
        raise Damaged.of("directory", size=size)
